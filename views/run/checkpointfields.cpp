// SPDX-License-Identifier: Apache-2.0
#include "views/run/checkpointfields.h"

#include "views/common/paint/fonts.h"
#include "views/common/widgets/boxes.h"
#include "views/run/chosenlist.h"

#include <QCheckBox>
#include <QSignalBlocker>
#include <QVBoxLayout>

namespace retro::views
{

CheckpointFields::CheckpointFields(QWidget* parent) : QWidget(parent)
{
    auto* column = makeBox<QVBoxLayout>(this, {}, fonts::px(4));
    m_list = new ChosenList({tr("Checkpoints"), tr("Remove the chosen checkpoint (Del)"),
                             tr("Values whose relevance is kept when it is final"),
                             tr("Relevance of %1 is kept when it is final; the graph adds more with a right click")},
                            this);
    column->addWidget(m_list);
    m_stops = new QCheckBox(tr("Stop when all are taken"), this);
    m_stops->setToolTip(tr("Leaves out what comes after them: the input gets no relevance then"));
    column->addWidget(m_stops);
    connect(m_list, &ChosenList::removed, this, [this] {
        setVisible(!checkpoints().isEmpty());
        emit changed();
    });
    connect(m_stops, &QCheckBox::toggled, this, &CheckpointFields::changed);
    setVisible(false);
}

void CheckpointFields::setCheckpoints(const QStringList& values, bool stopsThere)
{
    const QSignalBlocker quietBox(m_stops);
    m_list->setTexts(values);
    m_stops->setChecked(stopsThere && !values.isEmpty());
    setVisible(!values.isEmpty());
}

QStringList CheckpointFields::checkpoints() const { return m_list->texts(); }

bool CheckpointFields::stopsThere() const { return m_stops->isChecked() && !checkpoints().isEmpty(); }

} // namespace retro::views

#include "moc_checkpointfields.cpp"
