// SPDX-License-Identifier: Apache-2.0
#include "app/gui/facts/planlink.h"

#include "views/common/cursor.h"
#include "views/plan/planmodel.h"

namespace retro::app
{

PlanLink::PlanLink(views::RunModel& model, views::Cursor& cursor, views::PlanModel& plan, QObject* parent)
    : QObject(parent), m_model(model), m_cursor(cursor), m_plan(plan)
{
    connect(&model, &views::RunModel::stateChanged, this, &PlanLink::followCursor);
    connect(&model, &views::RunModel::runChanged, this, &PlanLink::compare);
    connect(&plan, &views::PlanModel::planChanged, this, &PlanLink::compare);
    connect(&plan, &views::PlanModel::stepChanged, this, &PlanLink::moveCursor);
}

void PlanLink::take(const ExplainDone& result)
{
    m_run = result.planPass ? result.run.run : nullptr;
    m_pass = result.planPass.value_or(PlanPass());
    compare();
    followCursor();
}

ExplainJob PlanLink::byPlan(ExplainJob job) const
{
    job.plan = m_plan.plan() ? std::make_shared<const schedule::Plan>(m_plan.plan()->plan()) : nullptr;
    return job;
}

/// The plan on screen is that of the run on screen, or it is not.
void PlanLink::compare()
{
    const bool isShown = m_run && m_model.hasRun() && m_model.sharedRun() == m_run;
    const bool wasTied = m_isTied;
    m_isTied = isShown && m_plan.plan() && m_plan.plan()->plan().steps == m_pass.plan->steps;
    if (m_isTied && m_plan.measured() != m_pass.bytes) {
        m_plan.setMeasured(m_pass.bytes);
    } else if (wasTied && !m_isTied) {
        m_plan.setMeasured({});
    }
}

void PlanLink::followCursor()
{
    if (!m_isTied || m_cursor.position() == 0) {
        return;
    }
    const std::int64_t visit = m_run->visitOf(m_cursor.position() - 1);
    m_isFollowing = true;
    m_plan.setStep(visit - std::int64_t{m_pass.firstVisit});
    m_isFollowing = false;
}

void PlanLink::moveCursor()
{
    const std::uint32_t visit = m_pass.firstVisit + m_plan.step();
    if (m_isTied && !m_isFollowing && visit < m_run->visitCount()) {
        m_cursor.moveTo(m_run->endOfVisit(visit));
    }
}

} // namespace retro::app
