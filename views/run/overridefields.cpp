// SPDX-License-Identifier: Apache-2.0
#include "views/run/overridefields.h"

#include "views/common/elidedlabel.h"
#include "views/common/fonts.h"
#include "views/common/icons.h"
#include "views/common/theme.h"

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
constexpr int kMostLines = 6;

} // namespace

OverrideFields::OverrideFields(QWidget* parent) : QWidget(parent)
{
    auto* column = new QVBoxLayout(this);
    column->setContentsMargins(0, 0, 0, 0);
    column->setSpacing(fonts::px(4));
    auto* head = new QHBoxLayout;
    head->addWidget(new ElidedLabel(tr("Changed rules"), Role::Text, fonts::label(QFont::DemiBold), this), 1);
    m_reset = new QToolButton(this);
    m_reset->setText(tr("Reset"));
    m_reset->setAutoRaise(true);
    m_reset->setToolTip(tr("Take all changed rules back and run again"));
    m_reset->setAccessibleName(m_reset->toolTip());
    head->addWidget(m_reset);
    m_remove = new QToolButton(this);
    m_remove->setIcon(icons::icon(QStringLiteral("close")));
    m_remove->setAutoRaise(true);
    m_remove->setToolTip(tr("Take the chosen rule back and run again (Del)"));
    m_remove->setAccessibleName(m_remove->toolTip());
    head->addWidget(m_remove);
    column->addLayout(head);
    m_list = new QListWidget(this);
    m_list->setAccessibleName(tr("Rules that stand before those of the composite"));
    m_list->setFrameShape(QFrame::NoFrame);
    m_list->setUniformItemSizes(true);
    m_list->setTextElideMode(Qt::ElideMiddle);
    m_list->setHorizontalScrollBarPolicy(Qt::ScrollBarAlwaysOff);
    m_list->setTabKeyNavigation(false);
    column->addWidget(m_list);
    connect(m_remove, &QToolButton::clicked, this, &OverrideFields::removeChosen);
    connect(m_reset, &QToolButton::clicked, this, &OverrideFields::reset);
    connect(m_list, &QListWidget::currentRowChanged, this, [this] { m_remove->setEnabled(m_list->currentRow() >= 0); });
    auto* remove = new QShortcut(QKeySequence(QKeySequence::Delete), m_list, nullptr, nullptr, Qt::WidgetShortcut);
    connect(remove, &QShortcut::activated, this, &OverrideFields::removeChosen);
    showState();
}

void OverrideFields::setOverrides(const QStringList& overrides)
{
    if (overrides == m_overrides) {
        return;
    }
    m_overrides = overrides;
    const QSignalBlocker quiet(m_list);
    m_list->clear();
    for (const QString& one : overrides) {
        auto* item = new QListWidgetItem(one, m_list);
        item->setToolTip(tr("%1; the first that fits a node counts").arg(one));
    }
    showState();
}

void OverrideFields::removeChosen()
{
    const int row = m_list->currentRow();
    if (row >= 0) {
        QStringList left = m_overrides;
        left.removeAt(row);
        setOverrides(left);
        emit changed();
    }
}

void OverrideFields::reset()
{
    setOverrides({});
    emit changed();
}

void OverrideFields::showState()
{
    setVisible(!m_overrides.isEmpty());
    m_remove->setEnabled(m_list->currentRow() >= 0);
    const int lines = std::clamp(m_list->count(), 1, kMostLines);
    const int line = m_list->count() > 0 ? m_list->sizeHintForRow(0) : m_list->fontMetrics().height();
    m_list->setFixedHeight(lines * line + 2 * m_list->frameWidth());
}

} // namespace retro::views
