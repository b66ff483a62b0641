// SPDX-License-Identifier: Apache-2.0
#include "views/run/checkpointfields.h"

#include "views/common/elidedlabel.h"
#include "views/common/fonts.h"
#include "views/common/icons.h"
#include "views/common/theme.h"

#include <QCheckBox>
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

CheckpointFields::CheckpointFields(QWidget* parent) : QWidget(parent)
{
    auto* column = new QVBoxLayout(this);
    column->setContentsMargins(0, 0, 0, 0);
    column->setSpacing(fonts::px(4));
    auto* head = new QHBoxLayout;
    head->addWidget(new ElidedLabel(tr("Checkpoints"), Role::Text, fonts::label(QFont::DemiBold), this), 1);
    m_remove = new QToolButton(this);
    m_remove->setIcon(icons::icon(QStringLiteral("close")));
    m_remove->setAutoRaise(true);
    m_remove->setToolTip(tr("Remove the chosen checkpoint (Del)"));
    m_remove->setAccessibleName(m_remove->toolTip());
    head->addWidget(m_remove);
    column->addLayout(head);
    m_list = new QListWidget(this);
    m_list->setAccessibleName(tr("Values whose relevance is kept when it is final"));
    m_list->setToolTip(
        tr("Relevance of these values is kept when it is final; the graph adds more with a right click"));
    m_list->setFrameShape(QFrame::NoFrame);
    m_list->setUniformItemSizes(true);
    m_list->setTextElideMode(Qt::ElideMiddle);
    m_list->setHorizontalScrollBarPolicy(Qt::ScrollBarAlwaysOff);
    m_list->setTabKeyNavigation(false);
    column->addWidget(m_list);
    m_stops = new QCheckBox(tr("Stop when all are taken"), this);
    m_stops->setToolTip(tr("Leaves out what comes after them: the input gets no relevance then"));
    column->addWidget(m_stops);
    connect(m_remove, &QToolButton::clicked, this, &CheckpointFields::removeChosen);
    connect(m_list, &QListWidget::currentRowChanged, this, &CheckpointFields::showState);
    connect(m_stops, &QCheckBox::toggled, this, &CheckpointFields::changed);
    auto* remove = new QShortcut(QKeySequence(QKeySequence::Delete), m_list, nullptr, nullptr, Qt::WidgetShortcut);
    connect(remove, &QShortcut::activated, this, &CheckpointFields::removeChosen);
    showState();
}

void CheckpointFields::setCheckpoints(const QStringList& values, bool stopsThere)
{
    const QSignalBlocker quietList(m_list);
    const QSignalBlocker quietBox(m_stops);
    m_list->clear();
    m_list->addItems(values);
    m_stops->setChecked(stopsThere && !values.isEmpty());
    showState();
}

QStringList CheckpointFields::checkpoints() const
{
    QStringList values;
    for (int i = 0; i < m_list->count(); ++i) {
        values << m_list->item(i)->text();
    }
    return values;
}

bool CheckpointFields::stopsThere() const { return m_stops->isChecked() && m_list->count() > 0; }

void CheckpointFields::removeChosen()
{
    if (m_list->currentRow() >= 0) {
        delete m_list->takeItem(m_list->currentRow());
        showState();
        emit changed();
    }
}

void CheckpointFields::showState()
{
    setVisible(m_list->count() > 0);
    m_remove->setEnabled(m_list->currentRow() >= 0);
    fitHeight();
}

void CheckpointFields::fitHeight()
{
    const int lines = std::clamp(m_list->count(), 1, kMostLines);
    const int line = m_list->count() > 0 ? m_list->sizeHintForRow(0) : m_list->fontMetrics().height();
    m_list->setFixedHeight(lines * line + 2 * m_list->frameWidth());
}

} // namespace retro::views
