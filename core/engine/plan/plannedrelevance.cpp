// SPDX-License-Identifier: Apache-2.0
#include "core/engine/plan/plannedrelevance.h"

#include "core/engine/explain/inputrelevance.h"
#include "core/engine/explain/numericalstop.h"
#include "core/engine/explain/requestcheck.h"
#include "core/engine/explain/saturatedtarget.h"
#include "core/engine/explain/stopwatch.h"
#include "core/engine/model/binding.h"
#include "core/engine/model/prepare.h"
#include "core/engine/plan/carriedplan.h"
#include "core/engine/plan/planrecorder.h"
#include "core/engine/plan/relevancehalf.h"
#include "core/engine/plan/runplan.h"
#include "core/engine/results/runfacts.h"
#include "core/event/observer.h"
#include "core/ops/algebra.h"
#include "core/runtime/profile.h"
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

/// Takes what a run makes; the first thing that went wrong stops the run.
class Taker
{
public:
    Taker(ExplainResult& result, const ExplainRequest& request, std::vector<base::ValueId> targets,
          std::stop_source& stop)
        : m_result(result), m_request(request), m_targets(std::move(targets)), m_stop(stop)
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
        const bool isTaken = m_request.inputsOnly || m_request.onRelevance;
        const bool isTarget = std::ranges::find(m_targets, made.value) != m_targets.end();
        const bool isEnd = graph.inputNode(made.value).isValid() || (isTarget && !m_request.inputsOnly);
        if (!isTaken || isEnd) {
            m_result.relevance[made.value.index()] = made.tensor;
        }
        return m_request.onRelevance ? m_request.onRelevance(*m_result.model, made.value, made.tensor) : Result<void>();
    }

    ExplainResult& m_result;
    const ExplainRequest& m_request;
    std::vector<base::ValueId> m_targets;
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

/// Whether a target saturates its own quantiser is seen in the values of a pass that keeps them.
Result<void> checkSaturation(const execute::BoundModel& model, const std::vector<base::ValueId>& targets)
{
    for (const base::ValueId target : targets) {
        const base::NodeId quantiser = quantiserOf(model, target);
        if (quantiser.isValid()) {
            const graph::Graph& graph = model.graph();
            const std::string& before = graph.value(graph.node(quantiser).inputs.front()).name;
            return base::usageError("a quantiser makes the target, and may cut off all of it, which a pass by a plan "
                                    "does not look at: name the value before it, --target '" +
                                        before + "[:i,j,…]', or leave the plan out",
                                    graph.value(target).name);
        }
    }
    return {};
}

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

Result<ExplainResult> plannedRelevance(const LoadedModel& model, const ExplainRequest& request, const PlanOptions& wish,
                                       const std::stop_token& stop)
{
    const Stopwatch bindWatch;
    RETRO_CHECK(checkRequest(request));
    RETRO_CHECK(checkNames(request, *model.graph()));
    RETRO_TRY(const std::shared_ptr<const Prepared> prepared, prepare(model, request, nullptr, stop));
    ExplainResult result;
    result.warnings = request.warnings;
    RETRO_CHECK(takeRules(*prepared, result));
    RETRO_TRY(Starts starts, Starts::find(request, result));
    RETRO_CHECK(checkSaturation(*result.model, starts.targets()));
    RETRO_TRY(const PassSubject subject, PassSubject::relevance(result.model, starts.targets(), prepared->rules));
    result.nodes = subject.graph()->postOrder().size();
    CarriedPlan carried;
    RETRO_TRY(runtime::JointProgram joint, jointProgram(subject, &carried.half));
    carried.program = std::make_shared<const runtime::JointProgram>(std::move(joint));
    RETRO_TRY(carried.chosen, choosePlan(*carried.program, wish, stop));
    if (carried.chosen.search && carried.chosen.plan.subject) {
        carried.chosen.plan.subject->composite = lrp::toJson(result.composite);
    }
    result.secondsBind = bindWatch.seconds();

    const std::vector<Tensor> inputs = inPrecision(result.model->graph(), request.inputs, request.precision);
    const ForwardPass pass{result.model, inputs, result.rules, stop};
    const auto startOf = [&](base::ValueId target, const Tensor& forward) -> Result<Tensor> {
        RETRO_TRY(const Tensor start, starts.at(pass, target, forward));
        return result.composite.dividesStart ? dividedStart(start, forward, result.model->graph().value(target).name)
                                             : Result<Tensor>(start);
    };
    const runtime::ReverseHalf half = relevanceHalf(subject, startOf, &result.ledger);
    std::stop_source ends;
    const std::stop_callback passOn(stop, [&ends] { ends.request_stop(); });
    Taker taker(result, request, starts.targets(), ends);
    runtime::PlanRunOptions options;
    options.stop = ends.get_token();
    options.onMade = [&](const runtime::Made& one) { taker.take(one); };
    std::optional<PlanRecorder> recorder;
    if (wish.isRecorded) {
        recorder.emplace(*carried.program, carried.chosen, &result.ledger);
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
    Result<runtime::PlanRun> run = runtime::runPlan(*carried.program, carried.chosen.plan, inputs, half, options);
    RETRO_CHECK(checkPlannedRun(taker, run, pass, result));
    carried.predicted = run->predicted;
    carried.run = std::move(run).value();
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
    result.secondsRelevance = carried.run->seconds;
    result.peakBytes = carried.run->tensorsPeak;
    runtime::fitSeconds(*carried.run);
    if (recorder) {
        const std::shared_ptr<trace::Run> recorded = std::move(*recorder).take(inputs, result.outputs);
        result.runPlan = runPlanOf(carried.program->forward(), carried.program->joint(), carried.chosen, carried.half);
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
    result.carried = std::make_shared<const CarriedPlan>(std::move(carried));
    return result;
}

} // namespace retro::engine
