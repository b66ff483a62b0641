// SPDX-License-Identifier: Apache-2.0
#include "views/run/chosenlist.h"

#include "views/common/paint/fonts.h"
#include "views/common/paint/icons.h"
#include "views/common/paint/theme.h"
#include "views/common/widgets/boxes.h"
#include "views/common/widgets/elidedlabel.h"

#include <QHBoxLayout>
#include <QListWidget>
#include <QShortcut>
#include <QSignalBlocker>
#include <QToolButton>
#include <QVBoxLayout>

#include <algorithm>

namespace retro::views
{

namespace
{

/// Lines that are seen at once; the rest scrolls.
constexpr int kMostChosenLines = 6;

} // namespace

ChosenList::ChosenList(const Words& words, QWidget* parent)
    : QWidget(parent), m_itemTip(words.itemTip), m_head(new QHBoxLayout), m_list(new QListWidget(this)),
      m_remove(new QToolButton(this))
{
    auto* column = makeBox<QVBoxLayout>(this, {}, fonts::px(4));
    m_head->addWidget(new ElidedLabel(words.title, Role::Text, fonts::label(QFont::DemiBold), this), 1);
    m_remove->setIcon(icons::icon(QStringLiteral("close")));
    m_remove->setAutoRaise(true);
    m_remove->setToolTip(words.removeTip);
    m_remove->setAccessibleName(words.removeTip);
    m_head->addWidget(m_remove);
    column->addLayout(m_head);
    m_list->setAccessibleName(words.listName);
    m_list->setFrameShape(QFrame::NoFrame);
    m_list->setUniformItemSizes(true);
    m_list->setTextElideMode(Qt::ElideMiddle);
    m_list->setHorizontalScrollBarPolicy(Qt::ScrollBarAlwaysOff);
    m_list->setTabKeyNavigation(false);
    column->addWidget(m_list);
    connect(m_remove, &QToolButton::clicked, this, &ChosenList::removeChosen);
    connect(m_list, &QListWidget::currentRowChanged, this, &ChosenList::showState);
    auto* remove = new QShortcut(QKeySequence(QKeySequence::Delete), m_list, nullptr, nullptr, Qt::WidgetShortcut);
    connect(remove, &QShortcut::activated, this, &ChosenList::removeChosen);
    showState();
}

void ChosenList::addButton(QToolButton& button) { m_head->insertWidget(m_head->count() - 1, &button); }

void ChosenList::setTexts(const QStringList& texts)
{
    const QSignalBlocker quiet(m_list);
    m_list->clear();
    for (const QString& text : texts) {
        auto* item = new QListWidgetItem(text, m_list);
        item->setToolTip(m_itemTip.isEmpty() ? text : m_itemTip.arg(text));
    }
    showState();
}

QStringList ChosenList::texts() const
{
    QStringList texts;
    for (int i = 0; i < m_list->count(); ++i) {
        texts << m_list->item(i)->text();
    }
    return texts;
}

void ChosenList::removeChosen()
{
    if (m_list->currentRow() >= 0) {
        delete m_list->takeItem(m_list->currentRow());
        showState();
        emit removed();
    }
}

void ChosenList::showState()
{
    m_remove->setEnabled(m_list->currentRow() >= 0);
    const int lines = std::clamp(m_list->count(), 1, kMostChosenLines);
    const int line = m_list->count() > 0 ? m_list->sizeHintForRow(0) : m_list->fontMetrics().height();
    m_list->setFixedHeight(lines * line + 2 * m_list->frameWidth());
}

} // namespace retro::views

#include "moc_chosenlist.cpp"
