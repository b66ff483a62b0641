// SPDX-License-Identifier: Apache-2.0
#include "app/gui/controllers/plancontroller.h"

#include "app/gui/facts/fusedfacts.h"
#include "app/gui/facts/inputinfo.h"
#include "app/gui/facts/recordedplan.h"
#include "app/gui/jobs/engineworker.h"
#include "app/gui/jobs/runhandles.h"
#include "core/analysis/bounds.h"
#include "core/analysis/report.h"
#include "core/base/cancel.h"
#include "core/base/file.h"
#include "core/engine/plan/passplanning.h"
#include "core/engine/plan/plannedrun.h"
#include "core/engine/plan/runplan.h"
#include "core/engine/plan/savingforecast.h"
#include "core/engine/question/resolve.h"
#include "core/schedule/planjson.h"
#include "core/schedule/planorders.h"
#include "views/common/numbertext.h"
#include "views/plan/blockcurve.h"

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
    request.blocks = question.blocks;
    request.stop = stop;
    return request;
}

/// The user's own plan is shown even where it needs more than the budget.
Result<PlanResult> planOf(const PlanSubject& subject, const PlanQuestion& question, const std::stop_token& stop,
                          schedule::SearchListener* listener = nullptr)
{
    schedule::PlanRequest request = requestOf(subject, question, stop);
    request.listener = listener;
    const bool isOwn = question.strategy == views::kUserStrategy;
    const bool hasOrders = subject.forward.size() > 0 && !(isOwn && question.order == schedule::kAutoOrder);
    Result<PlanResult> result =
        hasOrders ? schedule::planInOrders(question.strategy, question.order, subject.forward, subject.joint, request)
                  : schedule::planWith(question.strategy, request);
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

/// A point of the curve of block sizes: the plan of that size, or the least that its planner reached.
std::optional<views::BlockPoint> blockPointOf(const PlanSubject& subject, const PlanQuestion& question,
                                              const std::stop_token& stop)
{
    const Result<PlanResult> result = planOf(subject, question, stop);
    if (!result) {
        return std::nullopt;
    }
    if (result->plan) {
        return views::BlockPoint{question.blocks.operators, result->peak, result->cost};
    }
    std::optional<views::BlockPoint> least;
    for (const schedule::Attempt& attempt : result->attempts) {
        const bool isLess = attempt.peak > 0 && attempt.refusal.empty() && (!least || attempt.peak < least->peak);
        least = isLess ? views::BlockPoint{question.blocks.operators, attempt.peak, attempt.cost} : least;
    }
    return least;
}

/// The plan that choices made by hand give, whatever it needs.
Result<PlanResult> ownPlan(const PlanSubject& subject, const PlanQuestion& question, const std::stop_token& stop)
{
    schedule::PlanRequest request = requestOf(subject, question, stop);
    request.budget = analysis::kMaxTotalBytes;
    return schedule::planWith(views::kUserStrategy, request);
}

/// What single choices do: the plan of all of them less the plans without one.
std::vector<views::PinEffect> effectsOf(const PlanSubject& subject, const PlanQuestion& question,
                                        const std::vector<std::pair<analysis::OpValueId, PlanQuestion>>& without,
                                        const std::stop_token& stop)
{
    std::vector<views::PinEffect> effects;
    const Result<PlanResult> whole = ownPlan(subject, question, stop);
    for (const auto& [value, other] : without) {
        const Result<PlanResult> rest = ownPlan(subject, other, stop);
        if (whole && whole->plan && rest && rest->plan) {
            effects.push_back({value, static_cast<std::int64_t>(whole->peak) - static_cast<std::int64_t>(rest->peak),
                               whole->cost - rest->cost});
        }
    }
    return effects;
}

/// A joint graph with what it is of.
std::shared_ptr<PlanSubject> subjectOf(const ExplainJob& job, views::PlanFor half, analysis::OpGraph forward,
                                       analysis::JointGraph joint)
{
    auto subject = std::make_shared<PlanSubject>();
    subject->model = QString::fromStdString(job.model->name);
    subject->half = half;
    subject->forward = std::move(forward);
    subject->joint = std::move(joint);
    return subject;
}

/// The pass that the job asks for, with the sizes and data of its inputs.
Result<std::shared_ptr<PlanSubject>> subjectForInputs(ExplainJob& job, views::PlanFor half, const std::stop_token& stop)
{
    RETRO_TRY(job.model, modelOf(job, stop));
    RETRO_TRY(engine::ExplainRequest question, requestOf(job));
    RETRO_TRY(question.inputs, readInputs(job));
    const bool isRelevance = half == views::PlanFor::Relevance;
    RETRO_TRY(engine::PassPlanning planned,
              engine::passPlanningOf(*job.model, question,
                                     isRelevance ? analysis::JointKind::Relevance : analysis::JointKind::Gradient,
                                     stop));
    const auto subject = subjectOf(job, half, planned.program->forward(), planned.program->joint());
    subject->unit = planned.half.unit;
    subject->constantBytes = planned.half.constantBytes;
    if (isRelevance) {
        subject->forecast = [planned](const schedule::Plan& plan,
                                      const std::stop_token& token) -> std::optional<views::SavingNumbers> {
            const auto counts = engine::forecastSaving(*planned.subject, *planned.program, plan, false, token);
            return counts ? std::optional(views::SavingNumbers{counts->kept, counts->keptBytes, counts->dropped,
                                                               counts->byPromise, counts->recomputed, counts->promises,
                                                               counts->visits})
                          : std::nullopt;
        };
    }
    return subject;
}

/// With the sizes that the model declares.
Result<std::shared_ptr<PlanSubject>> subjectAsDeclared(const ExplainJob& job, views::PlanFor half,
                                                       const std::stop_token& stop)
{
    RETRO_TRY(const engine::TargetRequest target, engine::targetOf(job.question, *job.model));
    if (half == views::PlanFor::Relevance) {
        engine::HalfWish wish;
        wish.kind = analysis::JointKind::Relevance;
        RETRO_TRY(const base::ValueId value, engine::targetValue(target, *job.model->graph()));
        wish.outputs = {value};
        wish.composite = engine::completed(job.question, job.card()).composite;
        RETRO_TRY(analysis::PlanningGraph planning, engine::planningGraphOf(*job.model, {}, wish, stop));
        RETRO_TRY(analysis::JointGraph joint, analysis::jointOf(planning.graph, planning.graph.order(),
                                                                engine::jointOptions(wish.kind, planning.unit)));
        const auto subject = subjectOf(job, half, std::move(planning.graph), std::move(joint));
        subject->unit = planning.unit;
        subject->constantBytes = planning.constantBytes;
        subject->warnings = std::move(planning.warnings);
        return subject;
    }
    RETRO_TRY(engine::JointPlanning planned, engine::jointPlanningOf(job.model, target, stop));
    const auto subject = subjectOf(job, half, std::move(planned.planning.graph), std::move(planned.joint));
    subject->unit = planned.planning.unit;
    subject->constantBytes = planned.planning.constantBytes;
    subject->warnings = std::move(planned.planning.warnings);
    return subject;
}

Result<std::shared_ptr<PlanSubject>> subjectForJob(ExplainJob& job, views::PlanFor half, const std::stop_token& stop)
{
    const bool hasInputs = !job.question.inputs.empty() || engine::namesText(job.question);
    const bool isOfRun = hasInputs && !engine::statesFacts(*job.model->rewritten.before);
    if (!isOfRun) {
        return subjectAsDeclared(job, half, stop);
    }
    Result<std::shared_ptr<PlanSubject>> subject = subjectForInputs(job, half, stop);
    if (subject.ok() || subject.error().code == base::ErrorCode::Cancelled) {
        return subject;
    }
    Result<std::shared_ptr<PlanSubject>> declared = subjectAsDeclared(job, half, stop);
    if (declared.ok()) {
        (*declared)->warnings.push_back("planned for the sizes that the model declares: " + subject.error().text());
    }
    return declared;
}

/// A graph that states facts is a training step: no rule carries relevance through it.
bool isForGradients(const engine::LoadedModel& model) { return engine::statesFacts(*model.rewritten.before); }

/// Which pass a plan file is of: by the names of what it computes in the second half.
views::PlanFor halfOfPlan(const std::string& text)
{
    const auto has = [&](const char* prefix) { return text.find(prefix) != std::string::npos; };
    return has("[\"c\",\"r:")   ? views::PlanFor::Relevance
           : has("[\"c\",\"d:") ? views::PlanFor::Gradient
                                : views::PlanFor::Forward;
}

/// A plan that is there already, as the simulator sees it.
PlanResult judgedPlan(const PlanSubject& subject, schedule::Plan plan)
{
    const schedule::Simulation run = schedule::simulate(subject.graph(), plan);
    PlanResult result;
    result.status = schedule::PlanStatus::Feasible;
    result.planner = plan.annotations.planner;
    result.order = plan.annotations.order;
    result.peak = run.peak;
    result.budget = plan.budget.value_or(run.peak);
    result.basePeak = subject.storeAllPeak;
    result.cost = run.cost;
    result.movedBytes = run.movedBytes;
    result.baseCost = subject.baseCost;
    result.lowerBound = analysis::costBound(subject.graph(), result.budget).value_or(subject.baseCost);
    schedule::Attempt own; // so that the table of planners has what is on screen
    own.planner = result.planner;
    own.order = result.order;
    own.fits = run.peak <= result.budget;
    own.peak = run.peak;
    own.cost = run.cost;
    result.attempts.push_back(std::move(own));
    result.plan = std::move(plan);
    return result;
}

/// Also the texts of a language model, and which word of them is asked about.
bool asksTheSame(const engine::Question& a, const engine::Question& b)
{
    return std::ranges::all_of(engine::questionFields(), [&](const engine::QuestionField& field) {
        return !field.isOfTexts || engine::textsOf(field, a) == engine::textsOf(field, b);
    });
}

} // namespace

Result<PlanSubjectPointer> planSubjectOf(ExplainJob job, views::PlanFor half, const std::stop_token& stop)
{
    const bool isAlone = half == views::PlanFor::Forward;
    const views::PlanFor joined = isAlone || isForGradients(*job.model) ? views::PlanFor::Gradient : half;
    Result<std::shared_ptr<PlanSubject>> made = subjectForJob(job, joined, stop);
    if (!made && joined == views::PlanFor::Relevance && made.error().code != base::ErrorCode::Cancelled) {
        const std::string why = made.error().text();
        RETRO_TRY(made, subjectForJob(job, views::PlanFor::Gradient, stop));
        (*made)->warnings.push_back("planned for the gradient, as no relevance can be carried: " + why);
    }
    RETRO_TRY(const std::shared_ptr<PlanSubject> subject, std::move(made));
    if (isAlone) {
        subject->half = half;
        RETRO_TRY(subject->joint, engine::forwardAlone(subject->joint));
    }
    subject->storeAllPeak = analysis::storeAllPeak(subject->graph());
    subject->baseCost = analysis::costOfAll(subject->graph());
    return PlanSubjectPointer(subject);
}

PlanAnswer answerTo(const PlanSubjectPointer& subject, const PlanQuestion& question, const std::stop_token& stop,
                    schedule::SearchListener* listener)
{
    Result<PlanResult> result = planOf(*subject, question, stop, listener);
    PlanAnswer answer;
    if (stop.stop_requested()) {
        answer.isStopped = true;
    } else if (!result) {
        answer.refusal = QString::fromStdString(result.error().text()) + QLatin1Char('.');
        answer.remedy = PlanController::tr("Choose again for that tensor, or forget your choices.");
    } else if (!result->plan) {
        answer = refusalOf(*result);
    } else {
        auto shown = std::make_shared<views::ShownPlan>(*views::shownPlan(subject, question, *std::move(result)));
        shown->saving = subject->forecast ? subject->forecast(shown->plan(), stop) : std::nullopt;
        answer.plan = std::move(shown);
    }
    return answer;
}

Result<std::shared_ptr<ExplainDone>> searchAsRun(const ExplainJob& job, const std::stop_token& stop)
{
    const views::ShownPlan& asked = *job.search;
    const engine::PlanPlaces places(*job.model->graph(), asked.graph());
    engine::SearchRecorder recorder(places, places.nodeOf(0));
    const PlanAnswer answer = answerTo(asked.subject, asked.question, stop, &recorder);
    RETRO_CHECK(base::checkStop(stop));
    if (!answer.plan) {
        return base::engineError(QStringLiteral("%1 %2").arg(answer.refusal, answer.remedy).toStdString());
    }
    const bool isRelevance = asked.subject->half == views::PlanFor::Relevance;
    const trace::RecordedRun recorded = engine::searchedRun(
        *job.model, asked.subject->forward, asked.subject->joint, places, std::move(recorder).take(),
        answer.plan->result, asked.question.strategy,
        {isRelevance ? analysis::JointKind::Relevance : analysis::JointKind::Gradient, asked.subject->unit,
         asked.subject->constantBytes, asked.subject->half == views::PlanFor::Forward});
    const std::shared_ptr<const trace::Run>& run = recorded.run;
    auto done = std::make_shared<ExplainDone>();
    done->generation = job.generation;
    done->model = job.model;
    done->inputs = job.question.inputs;
    done->composite = job.question.composite;
    done->job = job;
    done->input = inputInfo(*run);
    done->fused = std::make_shared<views::FusedNodes>(fusedNodes(*job.model, *run->graph));
    done->planPass = PlanPass{std::make_shared<const schedule::Plan>(answer.plan->plan()), {}};
    done->runPlan = recorded.plan;
    RETRO_TRY(done->run, makeHandle(run, stop));
    return done;
}

PlanController::PlanController(EngineWorker& engine, views::PlanModel& plan, QObject* parent)
    : QObject(parent), m_engine(engine), m_plan(plan), m_jobs(new views::JobRunner(this)),
      m_points(new views::JobRunner(this)), m_analysis(new views::JobRunner(this)),
      m_blocks(new views::JobRunner(this)), m_pins(new views::JobRunner(this))
{
    connect(&plan, &views::PlanModel::halfChanged, this, [this] {
        const bool isOther = m_plan.subject() && m_plan.subject()->half != m_plan.half();
        if (m_model && isOther) {
            m_file.clear();
            m_number = m_engine.preparePlanSubject(m_job, m_plan.half());
        }
    });
    connect(&plan, &views::PlanModel::subjectWanted, this, &PlanController::prepare);
    connect(&plan, &views::PlanModel::planWanted, this, &PlanController::plan);
    connect(&plan, &views::PlanModel::curveWanted, this, &PlanController::curve);
    connect(&plan, &views::PlanModel::blockPointsWanted, this, &PlanController::drawBlocks);
    connect(&plan, &views::PlanModel::pinEffectsWanted, this, &PlanController::weighPins);
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
    cancelJobs();
    m_analysis->cancel();
    m_number = 0;
    m_file.clear();
    m_engine.stopPlanSubject();
    m_model = std::move(model);
    m_job = {};
    m_job.model = m_model;
    m_job.question.targets = {engine::usualTarget(m_job.card())};
    m_plan.reset(absence);
    m_plan.setHalf(views::PlanFor::Relevance);
}

void PlanController::showRecorded(const views::ShownPlanPointer& plan)
{
    m_plan.showPlan(plan->subject, plan);
    analyse();
}

void PlanController::openPlan(const QString& path)
{
    m_file = path;
    if (m_plan.subject()) {
        takeFile(m_plan.subject());
    } else if (m_plan.state() != views::PlanState::Loading) {
        m_plan.want();
    }
}

/// The plan of a file, of the joint graph of a subject; of another pass it asks for that one's first.
void PlanController::takeFile(const PlanSubjectPointer& subject)
{
    Result<std::string> text = base::readTextFile(m_file.toStdString(), schedule::kMaxPlanBytes);
    if (text && halfOfPlan(*text) != subject->half && m_model && !isForGradients(*m_model)) {
        const QString file = m_file;
        if (m_plan.subject() != subject) {
            m_plan.setSubject(subject); // whose half is another one
        }
        m_plan.setHalf(halfOfPlan(*text));
        m_file = file;
        return;
    }
    Result<schedule::Plan> plan = text ? schedule::parsePlanJson(subject->graph(), *text, m_file.toStdString())
                                       : Result<schedule::Plan>(text.error());
    if (!plan) {
        m_file.clear();
        if (m_plan.subject() != subject) {
            m_plan.setSubject(subject);
        }
        emit failed(QString::fromStdString(plan.error().text()));
        return;
    }
    PlanQuestion question;
    question.strategy = plan->annotations.planner.empty() ? question.strategy : plan->annotations.planner;
    PlanResult result = judgedPlan(*subject, *std::move(plan));
    question.budget = result.budget;
    auto shown = std::make_shared<views::ShownPlan>(*views::shownPlan(subject, question, std::move(result)));
    if (subject->forecast && shown->run.ok()) {
        shown->saving = subject->forecast(shown->plan(), {});
    }
    m_plan.showPlan(subject, std::move(shown));
    analyse();
}

/// What is true of the subject on screen, beside everything else.
void PlanController::analyse()
{
    m_analysis->start([this, subject = m_plan.subject()](const std::stop_token& stop) -> views::JobRunner::Delivery {
        const views::PlanAnalysisPointer analysis = analysisOf(*subject, stop);
        return [this, subject, analysis] {
            if (m_plan.subject() == subject && analysis) {
                m_plan.setAnalysis(analysis);
            }
        };
    });
}

void PlanController::setQuestion(const ExplainJob& job)
{
    const engine::Question& now = m_job.question;
    const bool isKnown = asksTheSame(job.question, now) && job.question.targets == now.targets &&
                         job.question.inputs == now.inputs && job.question.composite == now.composite &&
                         job.question.rules == now.rules && job.question.shapes == now.shapes &&
                         job.question.precision == now.precision;
    if (!m_model || job.model != m_model || isKnown) {
        return;
    }
    m_job = job;
    m_job.cover = nullptr; // another picture of the same size
    const bool isAsked = m_plan.state() != views::PlanState::Absent;
    if (isAsked) {
        m_number = m_engine.preparePlanSubject(m_job, m_plan.half());
    }
}

void PlanController::takeSubject(const PlanSubjectPointer& subject)
{
    const PlanSubjectPointer& shown = m_plan.subject();
    const bool isSame = shown && shown->half == subject->half && shown->graph().hash() == subject->graph().hash();
    if (isSame && (!subject->forecast || shown->forecast)) {
        m_plan.setHalf(subject->half);
        return; // what is on screen holds for this question, too
    }
    forgetPlans();
    if (!m_file.isEmpty()) {
        takeFile(subject);
        return;
    }
    m_plan.setSubject(subject);
    analyse();
}

/// What was planned for another question goes.
void PlanController::forgetPlans()
{
    if (m_plan.subject()) {
        cancelJobs();
        m_plan.reset(tr("Another question is planned for."));
    }
}

void PlanController::prepare()
{
    if (m_model) {
        m_plan.setLoading();
        m_number = m_engine.preparePlanSubject(m_job, m_plan.half());
    }
}

void PlanController::plan()
{
    m_file.clear(); // something else is asked for
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
    const bool isOrdered = m_plan.plan() && !m_plan.plan()->result.order.empty();
    question.order = isOrdered ? m_plan.plan()->result.order : m_plan.question().order;
    question.budget = m_budgets[m_done];
    m_points->start(
        [this, subject = m_plan.subject(), question](const std::stop_token& stop) -> views::JobRunner::Delivery {
            const Result<PlanResult> result = planOf(*subject, question, stop);
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

/// The curve of block sizes, point by point: plans as a chosen size would have them.
void PlanController::drawBlocks()
{
    m_blockSubject = m_plan.subject();
    m_blockQuestion = m_plan.question();
    m_blockSizes = views::blockSizes(m_blockSubject->joint.forwardCount);
    m_blockPoints.clear();
    m_plan.setBlockPoints({});
    nextBlockPoint();
}

void PlanController::nextBlockPoint()
{
    if (m_blockPoints.size() >= m_blockSizes.size()) {
        if (m_blockSubject == m_plan.subject()) {
            m_plan.setBlockPoints(m_blockPoints);
        }
        m_blockSubject.reset();
        return;
    }
    PlanQuestion question = m_blockQuestion;
    question.strategy = views::kBlockStrategy;
    question.blocks = {};
    question.blocks.operators = m_blockSizes[m_blockPoints.size()];
    m_blocks->start(
        [this, subject = m_blockSubject, question](const std::stop_token& stop) -> views::JobRunner::Delivery {
            const std::optional<views::BlockPoint> point = blockPointOf(*subject, question, stop);
            return [this, point, size = question.blocks.operators] {
                if (point) {
                    m_blockPoints.push_back(*point);
                } else {
                    std::erase(m_blockSizes, size);
                }
                nextBlockPoint();
            };
        });
}

/// What each choice made by hand does.
void PlanController::weighPins()
{
    std::vector<std::pair<analysis::OpValueId, PlanQuestion>> without;
    for (const analysis::OpValueId value : m_plan.pins()) {
        without.emplace_back(value, m_plan.questionWithout(value));
    }
    m_pins->start([this, subject = m_plan.subject(), question = m_plan.question(),
                   without](const std::stop_token& stop) -> views::JobRunner::Delivery {
        const std::vector<views::PinEffect> effects = effectsOf(*subject, question, without, stop);
        return [this, effects] { m_plan.setPinEffects(effects); };
    });
}

/// What is worked out for the subject on screen; it may be gone afterwards.
void PlanController::cancelJobs()
{
    m_jobs->cancel();
    m_points->cancel();
    m_blocks->cancel();
    m_pins->cancel();
    m_isDue = false;
    m_blockSubject.reset();
}

void PlanController::stop()
{
    cancelJobs();
    m_engine.stopPlanSubject();
    m_plan.setPlanning(false);
    m_plan.endCurve();
    if (m_plan.state() == views::PlanState::Loading) {
        m_plan.reset(tr("Stopped. Open the model again to plan for it."));
    }
}

} // namespace retro::app

#include "moc_plancontroller.cpp"
