// SPDX-License-Identifier: Apache-2.0
#include "app/gui/facts/planlink.h"

#include "views/common/cursor.h"
#include "views/plan/planmodel.h"

namespace retro::app
{

PlanLink::PlanLink(views::RunModel& model, views::Cursor& cursor, views::PlanModel& plan, QObject* parent)
    : QObject(parent), m_model(model), m_cursor(cursor), m_plan(plan), m_jobs(new views::JobRunner(this))
{
    connect(&model, &views::RunModel::stateChanged, this, &PlanLink::followCursor);
    connect(&model, &views::RunModel::runChanged, this, &PlanLink::compare);
    connect(&plan, &views::PlanModel::planChanged, this, &PlanLink::compare);
    connect(&plan, &views::PlanModel::stepChanged, this, &PlanLink::moveCursor);
}

void PlanLink::take(const ExplainDone& result)
{
    m_run = result.planPass ? result.run.run : nullptr;
    m_runPlan = result.planPass ? result.runPlan : nullptr;
    m_pass = result.planPass.value_or(PlanPass());
    compare();
    followCursor();
}

ExplainJob PlanLink::byPlan(ExplainJob job) const
{
    const views::ShownPlanPointer& shown = m_plan.plan();
    if (!shown) {
        return job;
    }
    auto carried = std::make_shared<PlanToCarry>();
    carried->plan = shown->plan();
    carried->found = shown->result;
    carried->found.plan.reset();
    carried->strategy = shown->question.strategy;
    carried->half = shown->subject->half;
    job.plan = std::move(carried);
    return job;
}

/// The plan on screen is that of the run on screen, or it is not.
void PlanLink::compare()
{
    const bool isShown = m_run && m_model.hasRun() && m_model.sharedRun() == m_run;
    const views::ShownPlanPointer& shown = m_plan.planOfSteps();
    const bool isOfRun = isShown && shown && shown->plan().steps == m_pass.plan->steps;
    const bool wasTied = m_isTied;
    m_isTied = isOfRun && m_plan.plan()->axis && m_plan.plan()->axis->run == m_run;
    if (isOfRun && m_plan.measured() != m_pass.bytes) {
        m_plan.setMeasured(m_pass.bytes);
    }
    if (isOfRun && !m_isTied) {
        m_isFollowing = true; // the cursor stays where it is
        tie();
        m_isFollowing = false;
    } else if (!isOfRun && wasTied) {
        m_jobs->cancel();
        m_plan.setMeasured({});
        m_plan.setOverRun(nullptr);
    }
}

/// Draws the plan over the time of the run; a long one beside the window.
void PlanLink::tie()
{
    constexpr std::size_t kAtOnce = 100'000; // events
    if (m_run->events.size() <= kAtOnce) {
        m_plan.setOverRun(views::shownOverRun(m_plan.planOfSteps(), m_run));
        return;
    }
    m_jobs->start(
        [this, plan = m_plan.planOfSteps(), run = m_run](const std::stop_token&) -> views::JobRunner::Delivery {
            const views::ShownPlanPointer over = views::shownOverRun(plan, run);
            return [this, plan, run, over] {
                if (m_plan.planOfSteps() == plan && m_run == run) {
                    m_isFollowing = true;
                    m_plan.setOverRun(over);
                    m_isFollowing = false;
                    followCursor();
                }
            };
        });
}

void PlanLink::followCursor()
{
    if (!m_isTied || m_cursor.position() == 0) {
        return;
    }
    const std::int64_t visit = m_run->visitOf(m_cursor.position() - 1);
    m_isFollowing = true;
    m_plan.setStep(visit - std::int64_t{m_plan.plan()->axis->firstVisit});
    m_isFollowing = false;
}

void PlanLink::moveCursor()
{
    if (!m_isTied || m_isFollowing) {
        return;
    }
    const std::int64_t visit = m_plan.plan()->axis->firstVisit + m_plan.place();
    if (visit < std::int64_t{m_run->visitCount()}) {
        m_cursor.moveTo(m_run->endOfVisit(static_cast<std::uint32_t>(visit)));
    }
}

} // namespace retro::app

#include "moc_planlink.cpp"
