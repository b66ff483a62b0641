// SPDX-License-Identifier: Apache-2.0
#include "core/engine/plan/plannedrelevance.h"

#include "core/engine/explain/inputrelevance.h"
#include "core/engine/explain/numericalstop.h"
#include "core/engine/explain/requestcheck.h"
#include "core/engine/explain/stopwatch.h"
#include "core/engine/model/binding.h"
#include "core/engine/model/prepare.h"
#include "core/engine/plan/planrecorder.h"
#include "core/engine/plan/relevancehalf.h"
#include "core/engine/plan/runplan.h"
#include "core/engine/results/runfacts.h"
#include "core/event/observer.h"
#include "core/ops/algebra.h"
#include "core/trace/profile.h"
#include "core/trace/wrongnumber.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <optional>

namespace retro::engine
{

using base::Result;
using tensor::Tensor;

namespace
{

using OnRelevance = std::function<Result<void>(const execute::BoundModel&, base::ValueId, const Tensor&)>;

/// Takes what a run makes; the first thing that went wrong stops the run.
class Taker
{
public:
    Taker(ExplainResult& result, const ExplainRequest& request, const OnRelevance& onRelevance, std::stop_source& stop)
        : m_result(result), m_request(request), m_onRelevance(onRelevance), m_stop(stop)
    {
        m_result.relevance.resize(m_result.model->graph().valueCount());
        m_result.outputs.resize(m_result.model->graph().outputs().size());
    }

    std::optional<base::Error> error;
    base::ValueId wrong; ///< whose relevance is not finite, where that stopped the run

    void take(const runtime::Made& made)
    {
        if (!made.isGradient) {
            takeOutput(made);
            return;
        }
        if (const Result<void> taken = takeRelevance(made); !taken.ok() && !error) {
            error = taken.error();
            m_stop.request_stop();
        }
    }

private:
    void takeOutput(const runtime::Made& made)
    {
        const auto outputs = m_result.model->graph().outputs();
        for (std::size_t i = 0; i < outputs.size(); ++i) {
            if (outputs[i] == made.value) {
                m_result.outputs[i] = made.tensor;
            }
        }
    }

    Result<void> takeRelevance(const runtime::Made& made)
    {
        const graph::Graph& graph = m_result.model->graph();
        const graph::Value& value = graph.value(made.value);
        if (!m_request.goesOnWhenNotFinite && !std::isfinite(ops::algebra::sum(made.tensor))) {
            wrong = made.value;
            m_result.relevance[made.value.index()] = made.tensor; // for the words
            return base::engineError("its relevance is too large to be summed; go on with --go-on", value.name);
        }
        const bool isCheckpoint = std::ranges::find(m_request.checkpoints, value.name) != m_request.checkpoints.end();
        if (isCheckpoint) {
            m_result.checkpoints.push_back({made.value, std::nullopt, made.tensor});
        }
        if (graph.inputNode(made.value).isValid()) {
            m_result.relevance[made.value.index()] = made.tensor;
        }
        return m_onRelevance ? m_onRelevance(*m_result.model, made.value, made.tensor) : Result<void>();
    }

    ExplainResult& m_result;
    const ExplainRequest& m_request;
    const OnRelevance& m_onRelevance;
    std::stop_source& m_stop;
};

Result<void> checkNames(const ExplainRequest& request, const graph::Graph& graph)
{
    for (const std::string& name : request.checkpoints) {
        if (!graph.findValue(name)) {
            return base::usageError("the model has no such value; `info MODEL --shapes` lists them",
                                    "--checkpoint " + name);
        }
    }
    return {};
}

/// Inputs to which every way leads through a rule that lets nothing pass: no operator of the plan gives them zeros.
void fillInputs(const PassSubject& subject, ExplainResult& result)
{
    const execute::BoundModel& model = subject.model();
    for (const base::ValueId input : model.graph().inputs()) {
        Tensor& relevance = result.relevance[input.index()];
        if (!relevance.isValid() && subject.carries(input)) {
            relevance = Tensor::zeros(execute::dtypeOf(model.precision()), model.typeOf(input).shape);
        }
    }
}

/// The targets of a request, and what starts at each.
class Starts
{
public:
    static Result<Starts> find(const ExplainRequest& request, ExplainResult& result)
    {
        Starts starts(request);
        for (const TargetRequest& target : starts.m_requests) {
            std::string note;
            RETRO_TRY(const base::ValueId value, targetValue(target, *result.model, &note));
            if (!note.empty()) {
                result.warnings.push_back(std::move(note));
            }
            starts.m_values.push_back(value);
            if (std::ranges::find(starts.m_targets, value) == starts.m_targets.end()) {
                starts.m_targets.push_back(value);
            }
        }
        starts.m_resolved.resize(starts.m_requests.size());
        return starts;
    }

    /// Each value once.
    [[nodiscard]] const std::vector<base::ValueId>& targets() const { return m_targets; }

    /// What starts at a value: of several targets in it, their sum in the order of the request.
    Result<Tensor> at(const ForwardPass& pass, base::ValueId value, const Tensor& forward)
    {
        Tensor sum;
        for (std::size_t i = 0; i < m_requests.size(); ++i) {
            if (m_values[i] != value) {
                continue;
            }
            RETRO_TRY(m_resolved[i], resolveTargetOf(pass, m_requests[i], m_start, value, forward));
            sum = sum.isValid() ? ops::algebra::add(sum, m_resolved[i].start) : m_resolved[i].start;
        }
        return sum;
    }

    void tell(ExplainResult& result) const
    {
        result.target = m_resolved.front();
        result.alsoTargets.assign(m_resolved.begin() + 1, m_resolved.end());
        for (const ResolvedTarget& target : m_resolved) {
            result.relevanceStart += ops::algebra::sum(target.start);
            addHints(target, m_start, result);
        }
    }

private:
    explicit Starts(const ExplainRequest& request) : m_requests(targetsOf(request)), m_start(request.start) {}

    std::vector<TargetRequest> m_requests;
    StartRequest m_start;
    std::vector<base::ValueId> m_values; ///< per request
    std::vector<base::ValueId> m_targets;
    std::vector<ResolvedTarget> m_resolved; ///< per request
};

/// The error of a run, if there is one: what the taker met comes before what the runtime says of it.
Result<void> checkPlannedRun(const Taker& taker, const Result<runtime::PlanRun>& run, const ForwardPass& pass,
                             ExplainResult& result)
{
    if (taker.wrong.isValid()) {
        if (trace::firstWrongRow(result.ledger) == nullptr) { // it started so: no rule had its turn
            const base::NodeId at = result.model->graph().nodeOf(taker.wrong);
            result.ledger.push_back({.node = at.value, .magnitude = std::numeric_limits<double>::quiet_NaN()});
        }
        RETRO_CHECK(checkFinite({pass, result.relevance, result.ledger}));
    }
    if (taker.error) {
        return *taker.error;
    }
    return run.ok() ? Result<void>() : Result<void>(run.error());
}

/// Relevance times input, where the composite asks for it.
Result<void> takeInputs(const ExplainRequest& request, const ForwardPass& pass, ExplainResult& result)
{
    if (!result.composite.timesInput) {
        return {};
    }
    multiplyByInputs(request, result);
    return request.goesOnWhenNotFinite ? Result<void>() : checkProducts(pass, result.relevance);
}

} // namespace

Result<PlannedRelevance> plannedRelevance(const LoadedModel& model, const ExplainRequest& request,
                                          const PlanOptions& wish, runtime::PlanRunOptions options,
                                          const OnRelevance& onRelevance)
{
    const Stopwatch bindWatch;
    RETRO_CHECK(checkRequest(request));
    RETRO_CHECK(checkNames(request, *model.graph()));
    RETRO_TRY(const std::shared_ptr<const Prepared> prepared, prepare(model, request, nullptr, options.stop));
    PlannedRelevance made;
    ExplainResult& result = made.result;
    result.warnings = request.warnings;
    RETRO_CHECK(takeRules(*prepared, result));
    RETRO_TRY(Starts starts, Starts::find(request, result));
    RETRO_TRY(const PassSubject subject, PassSubject::relevance(result.model, starts.targets(), prepared->rules));
    result.nodes = subject.graph()->postOrder().size();
    PlannedHalf planned;
    RETRO_TRY(runtime::JointProgram program, jointProgram(subject, &planned));
    made.program = std::make_shared<const runtime::JointProgram>(std::move(program));
    RETRO_TRY(made.chosen, choosePlan(*made.program, wish, options.stop));
    if (made.chosen.search && made.chosen.plan.subject) {
        made.chosen.plan.subject->composite = lrp::toJson(result.composite);
    }
    result.secondsBind = bindWatch.seconds();

    const std::vector<Tensor> inputs = inPrecision(result.model->graph(), request.inputs, request.precision);
    const ForwardPass pass{result.model, inputs, result.rules, options.stop};
    const auto startOf = [&](base::ValueId target, const Tensor& forward) -> Result<Tensor> {
        RETRO_TRY(const Tensor start, starts.at(pass, target, forward));
        return result.composite.dividesStart ? dividedStart(start, forward, result.model->graph().value(target).name)
                                             : Result<Tensor>(start);
    };
    const runtime::ReverseHalf half = relevanceHalf(subject, startOf, &result.ledger);
    std::stop_source stop;
    const std::stop_callback passOn(options.stop, [&stop] { stop.request_stop(); });
    Taker taker(result, request, onRelevance, stop);
    options.stop = stop.get_token();
    options.onMade = [&](const runtime::Made& one) { taker.take(one); };
    std::optional<PlanRecorder> recorder;
    if (wish.isRecorded) {
        recorder.emplace(*made.program, made.chosen, &result.ledger);
        recorder->listen(options);
    }
    std::optional<trace::ProfileRecorder> profiler;
    if (recorder || request.profile) {
        profiler.emplace();
    }
    const event::ObserverScope observed(profiler ? &*profiler : event::currentObserver());
    if (profiler && recorder) {
        profiler->setPosition([&recorder] { return recorder->eventCount(); });
    }
    Result<runtime::PlanRun> run = runtime::runPlan(*made.program, made.chosen.plan, inputs, half, options);
    RETRO_CHECK(checkPlannedRun(taker, run, pass, result));
    made.run = std::move(run).value();
    if (profiler) {
        profiler->setPosition({});
        result.profile = std::make_shared<const trace::Profile>(std::move(*profiler).take());
    }
    fillInputs(subject, result);
    starts.tell(result);
    RETRO_CHECK(takeInputs(request, pass, result));
    result.relevanceInputs = relevanceOfInputs(result);
    result.counts.visits = result.counts.normal = static_cast<std::uint32_t>(result.nodes);
    result.counts.visitsMax = 1;
    result.secondsRelevance = made.run.seconds;
    result.peakBytes = made.run.tensorsPeak;
    if (recorder) {
        const std::shared_ptr<trace::Run> recorded = std::move(*recorder).take(inputs, result.outputs);
        result.runPlan = runPlanOf(made.program->forward(), made.program->joint(), made.chosen, planned);
        const trace::RunFacts facts = recorded->facts;
        fillFacts(recorded->facts, {model, request, result, "plan"});
        recorded->facts.engine = "oracle";
        recorded->facts.planTries = facts.planTries;
        recorded->facts.planTiers = facts.planTiers;
        recorded->facts.numbers.insert(facts.numbers.begin(), facts.numbers.end());
        recorded->rules = result.rules;
        recorded->profile = result.profile;
        result.run = recorded;
    }
    return made;
}

} // namespace retro::engine
