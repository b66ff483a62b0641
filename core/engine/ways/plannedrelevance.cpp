// SPDX-License-Identifier: Apache-2.0
#include "core/engine/ways/plannedrelevance.h"

#include "core/base/bytesize.h"
#include "core/engine/explain/numericalstop.h"
#include "core/engine/explain/requestcheck.h"
#include "core/engine/explain/saturatedtarget.h"
#include "core/engine/lut/lutdecisions.h"
#include "core/engine/plan/carriedplan.h"
#include "core/engine/plan/relevancehalf.h"
#include "core/engine/ways/pass.h"
#include "core/ops/algebra.h"
#include "core/runtime/profile.h"
#include "core/trace/wrongnumber.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <iterator>
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
    Taker(Pass& pass, std::stop_source& stop) : m_result(pass.result), m_request(pass.request), m_stop(stop)
    {
        m_result.relevance.resize(m_result.model->graph().valueCount());
        if (!m_request.inputsOnly) {
            m_kept = pass.targets;
            m_kept.insert(m_kept.end(), pass.checkpoints.begin(), pass.checkpoints.end());
            std::ranges::transform(pass.conditions, std::back_inserter(m_kept), &ConditionSite::value);
        }
    }

    std::optional<base::Error> error;
    base::ValueId wrong; ///< whose relevance is not finite, where that stopped the run

    void take(const runtime::Made& made)
    {
        if (const Result<void> taken = made.isGradient ? takeRelevance(made) : Result<void>(); !taken.ok() && !error) {
            error = taken.error();
            m_stop.request_stop();
        }
    }

private:
    Result<void> takeRelevance(const runtime::Made& made)
    {
        const graph::Graph& graph = m_result.model->graph();
        if (!m_request.goesOnWhenNotFinite && !std::isfinite(ops::algebra::sum(made.tensor))) {
            wrong = made.value;
            m_result.relevance[made.value.index()] = made.tensor; // for the words
            return base::engineError("its relevance is too large to be summed; go on with --go-on",
                                     graph.value(made.value).name);
        }
        const bool isTaken = m_request.inputsOnly || m_request.onRelevance;
        const bool isKept =
            graph.inputNode(made.value).isValid() || std::ranges::find(m_kept, made.value) != m_kept.end();
        if (!isTaken || isKept) {
            m_result.relevance[made.value.index()] = made.tensor;
        }
        return m_request.onRelevance ? m_request.onRelevance(*m_result.model, made.value, made.tensor) : Result<void>();
    }

    ExplainResult& m_result;
    const ExplainRequest& m_request;
    std::vector<base::ValueId> m_kept; ///< beside the graph's inputs, also where relevance is handed out
    std::stop_source& m_stop;
};

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

/// What the taker met comes before what the runtime says of it.
Result<void> checkTaken(const Taker& taker, Pass& pass)
{
    ExplainResult& result = pass.result;
    if (taker.wrong.isValid()) {
        if (trace::firstWrongRow(result.ledger) == nullptr) { // it started so: no rule had its turn
            const base::NodeId at = result.model->graph().nodeOf(taker.wrong);
            result.ledger.push_back({.node = at.value, .magnitude = std::numeric_limits<double>::quiet_NaN()});
        }
        RETRO_CHECK(checkFinite({pass.again(), result.relevance, result.ledger}));
    }
    return taker.error ? Result<void>(*taker.error) : Result<void>();
}

/// The plan that the pass is carried out by, for its joint graph.
Result<CarriedPlan> planFor(const PassSubject& subject, const PlanOptions& wish, Pass& pass)
{
    CarriedPlan carried;
    RETRO_TRY(runtime::JointProgram joint, jointProgram(subject, &carried.half));
    carried.program = std::make_shared<const runtime::JointProgram>(std::move(joint));
    RETRO_TRY(carried.chosen, choosePlan(*carried.program, wish, pass.stop));
    if (carried.chosen.search && carried.chosen.plan.subject) {
        carried.chosen.plan.subject->composite = lrp::toJson(pass.result.composite);
    }
    pass.result.secondsBind += pass.sinceBound->seconds();
    return carried;
}

/// What LUT layers do is seen when their rules are applied, while what they read is there.
class LutTaker
{
public:
    LutTaker(const PassSubject& subject, ExplainResult& result) : m_subject(subject), m_result(result)
    {
        m_result.lutLayers = std::make_shared<std::vector<LutLayer>>();
    }

    Result<void> take(const tape::ModelSite& site)
    {
        const execute::BoundModel& model = m_subject.model();
        const lrp::RulePointer& rule = (*m_subject.rules())[site.node.index()].rule;
        std::vector<LutLayer>& layers = *m_result.lutLayers;
        const auto place = std::ranges::lower_bound(layers, site.node, {}, &LutLayer::node);
        const bool isTaken = place != layers.end() && place->node == site.node;
        if (isTaken || !ops::isLut(model.graph().node(site.node)) || !rule) {
            return {}; // a rule is applied once per value that it gives a part to
        }
        const trace::LutSite layer{model.graph(),    site.node,    {site.operands.begin(), site.operands.end()},
                                   site.upstream[0], rule->text(), execute::dtypeOf(model.precision())};
        RETRO_TRY(const trace::LutDetail detail, trace::lutDetail(layer, false));
        if (detail.relevance) {
            layers.insert(place, lutLayerOf(model.graph(), detail));
        }
        return {};
    }

private:
    const PassSubject& m_subject;
    ExplainResult& m_result;
};

/// Carries out the plan; outputs, relevance and ledger go into the result.
Result<void> carryRelevance(const PassSubject& subject, CarriedPlan& carried, bool isRecorded, Pass& pass)
{
    ExplainResult& result = pass.result;
    const auto startOf = [&pass](base::ValueId target, const Tensor& forward) { return pass.startAt(target, forward); };
    std::stop_source ends;
    const std::stop_callback passOn(pass.stop, [&ends] { ends.request_stop(); });
    Taker taker(pass, ends);
    CarryWish wish{isRecorded, pass.request.profile, &result.ledger, {}};
    wish.options.stop = ends.get_token();
    wish.options.onMade = [&taker](const runtime::Made& one) { taker.take(one); };
    wish.options.onStep = [&](const runtime::StepRecord& record) {
        pass.report("relevance", record.index, carried.chosen.plan.steps.size());
    };
    runtime::ReverseHalf half = relevanceHalf(subject, startOf, &result.ledger);
    if (!isRecorded && !pass.request.inputsOnly && hasLutLayer(result.model->graph())) {
        half.rule = [luts = LutTaker(subject, result),
                     rule = std::move(half.rule)](const tape::ModelSite& site) mutable -> Result<std::vector<Tensor>> {
            RETRO_CHECK(luts.take(site));
            return rule(site);
        };
    }
    pass.sinceBound.emplace();
    Result<CarriedOut> made = carryOutPlan(carried, pass.inputs, half, std::move(wish));
    RETRO_CHECK(checkTaken(taker, pass));
    RETRO_CHECK(made);
    runtime::fitSeconds(*carried.run);
    result.outputs = std::move(made->outputs);
    result.profile = std::move(made->profile);
    result.runPlan = std::move(made->runPlan);
    pass.recorded = std::move(made->recorded);
    result.counts.visits = result.counts.normal = static_cast<std::uint32_t>(result.nodes);
    result.counts.visitsMax = 1;
    fillInputs(subject, result);
    pass.tellStarts();
    return {};
}

/// What was asked beside the relevance is not in the plan.
void warnOfMore(const CarriedPlan& carried, ExplainResult& result)
{
    const std::optional<std::uint64_t> budget = carried.chosen.plan.budget;
    const bool isMore = result.peakBytes > carried.run->tensorsPeak;
    if (budget && isMore && static_cast<std::uint64_t>(result.peakBytes) > *budget) {
        result.warnings.push_back(
            fmt::format("the relevance was made within its budget of {}, and what was asked beside it (a region, "
                        "parameters) by a pass of its own, which had {} of tensors in memory",
                        base::bytesText(*budget), base::bytesText(static_cast<std::uint64_t>(result.peakBytes))));
    }
}

} // namespace

Result<ExplainResult> plannedRelevance(const LoadedModel& model, const ExplainRequest& request, const PlanOptions& wish,
                                       const std::stop_token& stop, const StageProgress& progress)
{
    RETRO_CHECK(checkRequest(request));
    Pass pass(model, request, stop, progress, nullptr);
    ExplainResult& result = pass.result;
    RETRO_CHECK(pass.bind());
    RETRO_CHECK(checkSaturation(*result.model, pass.targets));
    RETRO_TRY(lrp::TraversalGraph graph, pass.graph());
    const PassSubject subject = PassSubject::relevance(result.model, pass.targets, pass.prepared->rules,
                                                       std::make_shared<const lrp::TraversalGraph>(std::move(graph)));
    RETRO_TRY(CarriedPlan carried, planFor(subject, wish, pass));
    RETRO_CHECK(carryRelevance(subject, carried, wish.isRecorded, pass));
    const std::shared_ptr<trace::Run> recorded = pass.recorded;
    RETRO_CHECK(pass.finish("plan", nullptr));
    if (recorded) {
        recorded->facts.engine = "oracle";
        fillPlanFacts(carried.chosen, recorded->facts);
    }
    warnOfMore(carried, result);
    result.carried = std::make_shared<const CarriedPlan>(std::move(carried));
    return std::move(result);
}

} // namespace retro::engine
