// SPDX-License-Identifier: Apache-2.0
#include "app/gui/controllers/plancontroller.h"

#include "app/gui/jobs/engineworker.h"
#include "core/analysis/bounds.h"
#include "core/analysis/report.h"
#include "core/engine/plan/plannedgradient.h"
#include "core/engine/plan/planning.h"
#include "core/engine/question/resolve.h"
#include "views/common/numbertext.h"

#include <algorithm>
#include <array>
#include <cmath>

namespace retro::app
{

namespace
{

using base::Result;
using schedule::PlanResult;
using views::PlanQuestion;
using views::PlanSubject;
using views::PlanSubjectPointer;

/// Shares of the store-all peak for which all planners are asked.
constexpr std::array kShares{1.0, 0.9, 0.8, 0.7, 0.6, 0.5, 0.45, 0.4, 0.35, 0.3, 0.25, 0.2, 0.15, 0.1};

QString bytesWords(std::uint64_t bytes) { return views::bytesText(static_cast<std::int64_t>(bytes)); }

schedule::PlanRequest requestOf(const PlanSubject& subject, const PlanQuestion& question, const std::stop_token& stop)
{
    schedule::PlanRequest request;
    request.graph = &subject.graph();
    request.budget = question.budget;
    request.choices = question.choices;
    request.seconds = question.seconds;
    request.tier = question.tier;
    request.secondsPerCost = views::secondsPerCost(subject.unit);
    request.stop = stop;
    return request;
}

/// The user's own plan is shown even where it needs more than the budget.
Result<PlanResult> planOf(const PlanSubject& subject, const PlanQuestion& question, const std::stop_token& stop)
{
    schedule::PlanRequest request = requestOf(subject, question, stop);
    Result<PlanResult> result = schedule::planWith(question.strategy, request);
    const bool isOwn = question.strategy == views::kUserStrategy;
    if (!result || result->plan || !isOwn || result->status != schedule::PlanStatus::InfeasibleInThisOrder) {
        return result;
    }
    const schedule::PlanResult within = *std::move(result);
    request.budget = analysis::kMaxTotalBytes;
    RETRO_TRY(PlanResult own, schedule::planWith(question.strategy, request));
    own.status = within.status;
    own.reason = within.reason;
    own.budget = question.budget;
    own.lowerBound = within.lowerBound;
    if (own.plan) {
        own.plan->budget = question.budget;
    }
    return own;
}

PlanAnswer refusalOf(const PlanResult& result)
{
    PlanAnswer answer;
    const bool isProven = result.status == schedule::PlanStatus::Infeasible;
    answer.refusal = isProven ? PlanController::tr("No plan fits into %1: %2.")
                                    .arg(bytesWords(result.budget), QString::fromStdString(result.reason))
                              : PlanController::tr("No plan within %1 was found: %2.")
                                    .arg(bytesWords(result.budget), QString::fromStdString(result.reason));
    answer.remedy =
        result.peak > 0 && !isProven
            ? PlanController::tr("The least that was reached is %1: allow that much.").arg(bytesWords(result.peak))
            : PlanController::tr("No plan needs less than %1: allow more.").arg(bytesWords(result.floor));
    return answer;
}

/// The plans that planners proposed, whether or not they fit.
std::vector<views::PlanPoint> pointsOf(const PlanResult& result)
{
    std::vector<views::PlanPoint> points;
    for (const schedule::Attempt& attempt : result.attempts) {
        if (attempt.peak > 0 && attempt.refusal.empty()) {
            points.push_back({attempt.planner, attempt.peak, attempt.cost});
        }
    }
    return points;
}

/// With the sizes that the inputs of the job have.
Result<engine::JointPlanning> jointForInputs(ExplainJob& job, const engine::TargetRequest& target,
                                             const std::stop_token& stop)
{
    engine::ExplainRequest question;
    RETRO_TRY(question.inputs, readInputs(job));
    question.target = target;
    question.precision = engine::precisionOf(job.question, *job.model);
    return engine::plannedJoint(*job.model, question, stop);
}

Result<engine::JointPlanning> jointForJob(ExplainJob& job, const std::stop_token& stop)
{
    RETRO_TRY(const engine::TargetRequest target, engine::targetOf(job.question, *job.model));
    const bool isOfRun = !job.question.inputs.empty() && !engine::statesFacts(*job.model->rewritten.before);
    if (!isOfRun) {
        return engine::jointPlanningOf(job.model, target, stop);
    }
    Result<engine::JointPlanning> joint = jointForInputs(job, target, stop);
    if (joint.ok() || joint.error().code == base::ErrorCode::Cancelled) {
        return joint;
    }
    Result<engine::JointPlanning> declared = engine::jointPlanningOf(job.model, target, stop);
    if (declared.ok()) {
        declared->planning.warnings.push_back("planned for the sizes that the model declares: " + joint.error().text());
    }
    return declared;
}

} // namespace

Result<PlanSubjectPointer> planSubjectOf(ExplainJob job, const std::stop_token& stop)
{
    RETRO_TRY(engine::JointPlanning joint, jointForJob(job, stop));
    auto subject = std::make_shared<PlanSubject>();
    subject->model = QString::fromStdString(job.model->name);
    subject->joint = std::move(joint.joint);
    subject->unit = joint.planning.unit;
    subject->constantBytes = joint.planning.constantBytes;
    subject->warnings = std::move(joint.planning.warnings);
    subject->storeAllPeak = analysis::storeAllPeak(subject->graph());
    subject->baseCost = analysis::costOfAll(subject->graph());
    return PlanSubjectPointer(std::move(subject));
}

PlanAnswer answerTo(const PlanSubjectPointer& subject, const PlanQuestion& question, const std::stop_token& stop)
{
    Result<PlanResult> result = planOf(*subject, question, stop);
    PlanAnswer answer;
    if (stop.stop_requested()) {
        answer.isStopped = true;
    } else if (!result) {
        answer.refusal = QString::fromStdString(result.error().text()) + QLatin1Char('.');
        answer.remedy = PlanController::tr("Choose again for that tensor, or forget your choices.");
    } else if (!result->plan) {
        answer = refusalOf(*result);
    } else {
        answer.plan = views::shownPlan(subject, question, *std::move(result));
    }
    return answer;
}

PlanController::PlanController(EngineWorker& engine, views::PlanModel& plan, QObject* parent)
    : QObject(parent), m_engine(engine), m_plan(plan), m_jobs(new views::JobRunner(this)),
      m_points(new views::JobRunner(this))
{
    connect(&plan, &views::PlanModel::subjectWanted, this, &PlanController::prepare);
    connect(&plan, &views::PlanModel::planWanted, this, &PlanController::plan);
    connect(&plan, &views::PlanModel::curveWanted, this, &PlanController::curve);
    connect(&plan, &views::PlanModel::cancelWanted, this, &PlanController::stop);
    connect(&engine, &EngineWorker::planSubjectReady, this, [this](quint64 number, const PlanSubjectPointer& subject) {
        if (number == m_number) {
            takeSubject(subject);
        }
    });
    connect(&engine, &EngineWorker::planSubjectFailed, this, [this](quint64 number, const QString& what) {
        if (number == m_number) {
            forgetPlans();
            m_plan.setFailed(tr("Nothing can be planned: %1").arg(what),
                             tr("State what is missing in the graph, or open another model."));
        }
    });
    setModel(nullptr, tr("Open a model: its plan appears here."));
}

void PlanController::setModel(engine::LoadedModelPointer model, const QString& absence)
{
    if (model != nullptr && model == m_model) {
        return;
    }
    m_jobs->cancel();
    m_points->cancel();
    m_isDue = false;
    m_number = 0;
    m_engine.stopPlanSubject();
    m_model = std::move(model);
    m_job = {};
    m_job.model = m_model;
    m_job.question.targets = {engine::usualTarget(m_job.card())};
    m_plan.reset(absence);
}

void PlanController::setQuestion(const ExplainJob& job)
{
    const bool isKnown = job.question.targets == m_job.question.targets && job.question.inputs == m_job.question.inputs;
    if (!m_model || job.model != m_model || isKnown) {
        return;
    }
    m_job = job;
    m_job.cover = nullptr; // another picture of the same size
    const bool isAsked = m_plan.state() != views::PlanState::Absent;
    if (isAsked) {
        m_number = m_engine.preparePlanSubject(m_job);
    }
}

void PlanController::takeSubject(const PlanSubjectPointer& subject)
{
    const PlanSubjectPointer& shown = m_plan.subject();
    if (shown && shown->graph().hash() == subject->graph().hash()) {
        return; // what is on screen holds for this question, too
    }
    forgetPlans();
    m_plan.setSubject(subject);
}

/// What was planned for another question goes.
void PlanController::forgetPlans()
{
    if (m_plan.subject()) {
        m_jobs->cancel();
        m_points->cancel();
        m_isDue = false;
        m_plan.reset(tr("Another question is planned for."));
    }
}

void PlanController::prepare()
{
    if (m_model) {
        m_plan.setLoading();
        m_number = m_engine.preparePlanSubject(m_job);
    }
}

void PlanController::plan()
{
    const bool isSlow = m_plan.question().strategy == views::kBestStrategy;
    if (m_jobs->isRunning() && !isSlow && !m_isSlow) {
        m_isDue = true; // the newest question follows the one that is being answered
        return;
    }
    m_isSlow = isSlow;
    start();
}

void PlanController::start()
{
    m_isDue = false;
    m_plan.setPlanning(true);
    m_jobs->start([this, subject = m_plan.subject(),
                   question = m_plan.question()](const std::stop_token& stop) -> views::JobRunner::Delivery {
        const PlanAnswer answer = answerTo(subject, question, stop);
        return [this, answer] { deliver(answer); };
    });
}

void PlanController::deliver(const PlanAnswer& answer)
{
    if (answer.plan) {
        m_plan.takePlan(answer.plan);
    } else if (!answer.isStopped) {
        m_plan.takeRefusal(answer.refusal, answer.remedy);
    }
    if (m_jobs->isRunning()) {
        return; // the answer led to another question
    }
    if (m_isDue) {
        m_isSlow = m_plan.question().strategy == views::kBestStrategy;
        start();
    } else {
        m_plan.setPlanning(false);
    }
}

void PlanController::curve(bool isWanted)
{
    m_points->cancel();
    if (!isWanted) {
        m_plan.endCurve();
        return;
    }
    m_budgets.clear();
    m_done = 0;
    for (const double share : kShares) {
        m_budgets.push_back(
            static_cast<std::uint64_t>(std::floor(share * static_cast<double>(m_plan.subject()->storeAllPeak))));
    }
    nextPoint();
}

void PlanController::nextPoint()
{
    PlanQuestion question;
    question.budget = m_budgets[m_done];
    m_points->start([this, subject = m_plan.subject(),
                     question](const std::stop_token& stop) -> views::JobRunner::Delivery {
        const Result<PlanResult> result = schedule::planWith(question.strategy, requestOf(*subject, question, stop));
        const std::vector<views::PlanPoint> points = result ? pointsOf(*result) : std::vector<views::PlanPoint>();
        return [this, points] {
            ++m_done;
            m_plan.addPoints(points, static_cast<double>(m_done) / static_cast<double>(m_budgets.size()));
            if (m_done < m_budgets.size()) {
                nextPoint();
            }
        };
    });
}

void PlanController::stop()
{
    m_jobs->cancel();
    m_points->cancel();
    m_engine.stopPlanSubject();
    m_isDue = false;
    m_plan.setPlanning(false);
    m_plan.endCurve();
    if (m_plan.state() == views::PlanState::Loading) {
        m_plan.reset(tr("Stopped. Open the model again to plan for it."));
    }
}

} // namespace retro::app
