// SPDX-License-Identifier: Apache-2.0
#include "views/plan/plannerbox.h"

namespace retro::views
{

namespace
{
constexpr int kAlways = 3; ///< entries; behind them one planner that alone is asked
constexpr int kLetters = 10;
} // namespace

PlannerBox::PlannerBox(PlanModel& plan, QWidget* parent) : QComboBox(parent), m_plan(plan)
{
    setAccessibleName(tr("Planner"));
    setToolTip(tr("Who makes the plan"));
    setSizeAdjustPolicy(QComboBox::AdjustToMinimumContentsLengthWithIcon);
    setMinimumContentsLength(kLetters);
    addItem(tr("fast: all of them"), QString::fromLatin1(kFastStrategy));
    addItem(tr("best within 5 s"), QString::fromLatin1(kBestStrategy));
    addItem(tr("mine: as I choose"), QString::fromLatin1(kUserStrategy));
    connect(this, &QComboBox::activated, this,
            [this](int index) { m_plan.setStrategy(itemData(index).toString().toStdString()); });
    for (const auto change : {&PlanModel::stateChanged, &PlanModel::planChanged, &PlanModel::questionChanged}) {
        connect(&plan, change, this, &PlannerBox::showStrategy);
    }
    showStrategy();
}

void PlannerBox::showStrategy()
{
    setEnabled(m_plan.state() == PlanState::Ready);
    const std::string& strategy = m_plan.question().strategy;
    const QString wanted = QString::fromStdString(strategy);
    int index = findData(wanted);
    while (count() > kAlways && index != kAlways) {
        removeItem(kAlways); // one that is no longer asked
        index = findData(wanted);
    }
    if (index < 0 && !wanted.isEmpty()) {
        addItem(tr("only %1").arg(plannerTitle(strategy)), wanted);
        index = count() - 1;
    }
    setCurrentIndex(index);
}

} // namespace retro::views

#include "moc_plannerbox.cpp"
