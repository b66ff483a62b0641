// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "app/gui/jobs/jobs.h"
#include "views/common/jobrunner.h"

#include <QObject>

namespace retro::views
{
class PlanModel;
} // namespace retro::views

namespace retro::app
{

/// Ties the step of the plan on screen to the cursor while the run on screen was carried out by that plan: either moves
/// the other, and the plan's views show what was measured. GUI thread.
class PlanLink final : public QObject
{
    Q_OBJECT

public:
    PlanLink(views::RunModel& model, views::Cursor& cursor, views::PlanModel& plan, QObject* parent);

    /// The run that came on screen.
    void take(const ExplainDone& result);
    /// The job, by the plan on screen; as it is without one.
    [[nodiscard]] ExplainJob byPlan(ExplainJob job) const;
    /// What a file of the run on screen keeps of its plan; null = it was carried out by none.
    [[nodiscard]] const std::shared_ptr<const trace::RunPlan>& runPlan() const { return m_runPlan; }
    /// True while cursor and plan go together.
    [[nodiscard]] bool isTied() const { return m_isTied; }

private:
    void compare();
    void tie();
    void followCursor();
    void moveCursor();

    views::RunModel& m_model;
    views::Cursor& m_cursor;
    views::PlanModel& m_plan;
    std::shared_ptr<const trace::Run> m_run; ///< carried out by a plan; else null
    PlanPass m_pass;
    std::shared_ptr<const trace::RunPlan> m_runPlan;
    views::JobRunner* m_jobs = nullptr;
    bool m_isTied = false;
    bool m_isFollowing = false; ///< the plan's step comes from the cursor at this moment
};

} // namespace retro::app
