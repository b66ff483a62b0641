// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "views/plan/planmodel.h"

#include <QComboBox>

namespace retro::views
{

/// Who makes the plan: every fast planner, a search of some seconds, the person, or the one that was chosen in the list
/// of planners. GUI thread.
class PlannerBox final : public QComboBox
{
    Q_OBJECT

public:
    explicit PlannerBox(PlanModel& plan, QWidget* parent = nullptr);

private:
    void showStrategy();

    PlanModel& m_plan;
};

} // namespace retro::views
