// SPDX-License-Identifier: Apache-2.0
#include "views/run/overridefields.h"

#include "views/run/chosenlist.h"

#include <QToolButton>
#include <QVBoxLayout>

namespace retro::views
{

OverrideFields::OverrideFields(QWidget* parent) : QWidget(parent)
{
    auto* column = new QVBoxLayout(this);
    column->setContentsMargins(0, 0, 0, 0);
    m_list = new ChosenList({tr("Changed rules"), tr("Take the chosen rule back and run again (Del)"),
                             tr("Rules that stand before those of the composite"),
                             tr("%1; the first that fits a node counts")},
                            this);
    auto* reset = new QToolButton(this);
    reset->setText(tr("Reset"));
    reset->setAutoRaise(true);
    reset->setToolTip(tr("Take all changed rules back and run again"));
    reset->setAccessibleName(reset->toolTip());
    m_list->addButton(*reset);
    column->addWidget(m_list);
    const auto tell = [this] {
        setVisible(!overrides().isEmpty());
        emit changed();
    };
    connect(m_list, &ChosenList::removed, this, tell);
    connect(reset, &QToolButton::clicked, this, [this, tell] {
        m_list->setTexts({});
        tell();
    });
    setVisible(false);
}

void OverrideFields::setOverrides(const QStringList& overrides)
{
    if (overrides != m_list->texts()) { // what is chosen in it stays
        m_list->setTexts(overrides);
        setVisible(!overrides.isEmpty());
    }
}

QStringList OverrideFields::overrides() const { return m_list->texts(); }

} // namespace retro::views

#include "moc_overridefields.cpp"
