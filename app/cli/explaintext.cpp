// SPDX-License-Identifier: Apache-2.0
#include "app/cli/explaintext.h"

#include "app/cli/forwardingtext.h"
#include "app/cli/planningoptions.h"
#include "core/engine/explain/ctc.h"
#include "core/engine/lut/lutdecisions.h"
#include "core/engine/plan/carriedplan.h"
#include "core/engine/results/runfacts.h"
#include "core/ops/algebra.h"
#include "core/trace/targetplace.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <numeric>

namespace retro::app
{

std::string labelOf(const engine::LoadedModel& model, std::int64_t index)
{
    if (model.card && index >= 0 && static_cast<std::size_t>(index) < model.card->labels.size()) {
        return fmt::format("{} ({})", index, model.card->labels[static_cast<std::size_t>(index)]);
    }
    return index < 0 ? "the whole value" : std::to_string(index);
}

std::string placeOf(const engine::LoadedModel& model, const graph::Graph& graph, const engine::ResolvedTarget& target,
                    std::size_t sample)
{
    const std::int64_t index = target.index[sample];
    if (index < 0 && sample < target.place.size() && !target.place[sample].empty()) {
        return target.place[sample]; // a segment
    }
    if (engine::isStepOfTime(target, sample)) {
        return target.place[sample] + labelOf(model, index).substr(std::to_string(index).size());
    }
    const tensor::Shape& shape = target.start.shape();
    const std::vector<std::string> axes = trace::axisNames(graph, target.value, shape.size());
    if (index < 0 || !trace::isDense(axes, shape)) {
        return labelOf(model, index);
    }
    const std::int64_t of = trace::classOf(axes, shape, index);
    const std::string label = labelOf(model, of);
    return trace::placeText(axes, shape, index) + label.substr(std::to_string(of).size());
}

namespace
{

void sayAmounts(const Context& context, const engine::ExplainResult& result)
{
    if (engine::carriesGradient(result)) {
        context.say(fmt::format(
            "gradient     {:.6g} at the target; {} sums to {:.6g}. A gradient is not conserved", result.relevanceStart,
            result.composite.timesInput ? "input × gradient" : "at the inputs", result.relevanceInputs));
        return;
    }
    context.say(fmt::format("relevance    {:.6g} started, {:.6g} reached the inputs", result.relevanceStart,
                            result.relevanceInputs));
    for (const auto& [cause, amount] : engine::causeTotals(result.ledger)) {
        context.say(fmt::format("  {:<18} {:+.6g}", cause, 0.0 - amount));
    }
}

/// What a plan kept, and how the rest was come by.
void saySaving(const Context& context, const engine::ExplainResult& result)
{
    if (!result.planSaving) {
        return;
    }
    const engine::PlanSaving& saving = *result.planSaving;
    context.say(
        fmt::format("saved        by the plan: {} values, {}; {} others brought by promises, {} nodes ran again",
                    saving.kept.size(), bytesText(static_cast<std::uint64_t>(saving.keptBytes)), saving.promised.size(),
                    saving.recomputed.size()));
    if (saving.peak > 0) {
        context.say(fmt::format("memory       {} planned, {} in the traversal, {} with all that is recorded",
                                bytesText(saving.plan->predicted.peak), bytesText(saving.peak),
                                bytesText(static_cast<std::uint64_t>(result.peakBytes))));
    }
}

/// "channel 17 +0.239, channel 29 +0.230": those that put the most there.
std::string largestChannels(const engine::RegionShare& share)
{
    constexpr std::size_t kMost = 4;
    std::vector<std::size_t> order(share.perChannel.size());
    std::iota(order.begin(), order.end(), std::size_t{0});
    const std::size_t count = std::min(kMost, order.size());
    std::partial_sort(
        order.begin(), order.begin() + static_cast<std::ptrdiff_t>(count), order.end(),
        [&](std::size_t a, std::size_t b) { return std::abs(share.perChannel[a]) > std::abs(share.perChannel[b]); });
    std::string text;
    for (std::size_t i = 0; i < count; ++i) {
        text += fmt::format("{}{} {:+.4g}", i == 0 ? "" : ", ", order[i], share.perChannel[order[i]]);
    }
    return text;
}

} // namespace

void sayTarget(const Context& context, const engine::LoadedModel& model, const graph::Graph& graph,
               const engine::ResolvedTarget& target)
{
    for (std::size_t i = 0; i < target.index.size(); ++i) {
        if (target.index[i] == -2) {
            continue; // a sample without a target
        }
        context.say(fmt::format("target       {}{} of {}, score {:.6g}",
                                target.index.size() > 1 ? fmt::format("sample {}: ", i) : std::string(),
                                placeOf(model, graph, target, i), graph.value(target.value).name, target.logit[i]));
    }
}

void sayParameters(const Context& context, const engine::ExplainResult& result)
{
    const auto isSaid = [](const engine::ParameterRelevance& each) { return each.relevance.isValid(); };
    const auto said = std::ranges::count_if(result.parameters, isSaid);
    const auto others = std::ssize(result.parameters) - said;
    if (!result.parameters.empty()) {
        context.say(fmt::format("parameters   {} of {} have relevance{}", said, result.parameters.size(),
                                others == 0 ? "" : "; summary.json says why the others have none"));
    }
}

void sayCheckpoints(const Context& context, const engine::ExplainResult& result)
{
    for (const engine::TakenCheckpoint& checkpoint : result.checkpoints) {
        const std::string when = checkpoint.visit ? fmt::format(", at visit {}", *checkpoint.visit) : std::string();
        context.say(fmt::format("checkpoint   {}: {:+.6g}{}", result.model->graph().value(checkpoint.value).name,
                                ops::algebra::sum(checkpoint.relevance), when));
    }
    if (result.stoppedEarly) {
        context.say("stopped      all checkpoints are taken; relevance of what comes after them is not known");
    }
}

void sayConditions(const Context& context, const engine::ExplainResult& result)
{
    for (const engine::PassedCondition& one : result.conditions) {
        context.say(fmt::format("condition    {}: {:+.6g} of {:+.6g} passes{}",
                                result.model->graph().value(one.value).name, one.passed, one.arrived,
                                result.asked ? "; relevance starts again there" : ""));
    }
}

void sayRegion(const Context& context, const engine::ExplainResult& result)
{
    if (!result.region) {
        return;
    }
    const graph::Graph& graph = result.model->graph();
    context.say(fmt::format("region       {:+.6g} of {:+.6g} ends in {}", result.region->total, result.relevanceInputs,
                            result.region->text));
    for (const engine::RegionShare& share : engine::regionShares(*result.region, result.relevance, graph)) {
        if (graph.isInput(graph.nodeOf(share.value)) || !share.axis) {
            continue;
        }
        context.say(fmt::format("  {:<28} {:+.6g} of {:+.6g}; axis {}: {}", graph.value(share.value).name, share.total,
                                share.relevance, *share.axis, largestChannels(share)));
    }
}

void sayResult(const Context& context, const engine::LoadedModel& model, const engine::ExplainResult& result,
               std::size_t rows)
{
    sayTarget(context, model, result.model->graph(), result.asked.value_or(result.target));
    for (const engine::ResolvedTarget& target : result.alsoTargets) {
        sayTarget(context, model, result.model->graph(), target);
    }
    for (const engine::LutLayer& layer : engine::lutLayersOf(result)) {
        for (const engine::LutDecision& one : layer.decisions) {
            context.say(fmt::format("decided      {}, sample {}: {}", one.node, one.sample, one.text()));
        }
    }
    context.say(fmt::format("composite    {}{}", result.composite.name,
                            result.composite.reason.empty() ? "" : " (" + result.composite.reason + ")"));
    context.say(fmt::format("visits       {} ({} normal, {} search, {} fulfilment), {} promises", result.counts.visits,
                            result.counts.normal, result.counts.search, result.counts.fulfilment,
                            result.counts.promises));
    saySaving(context, result);
    if (result.forwarding) {
        sayForwarding(context, *result.forwarding, result.model->graph(), rows);
    }
    sayAmounts(context, result);
    context.say(fmt::format("seconds      load {:.3f}, bind {:.3f}, forward {:.3f}, relevance {:.3f}", model.seconds,
                            result.secondsBind, result.secondsForward, result.secondsRelevance));
}

void sayOpened(const Context& context, const std::vector<engine::OpenedFused>& opened)
{
    for (const engine::OpenedFused& one : opened) {
        context.say(fmt::format("inside {}", one.node));
        for (const lrp::OpenedValue& value : one.opened.values) {
            if (value.relevance.isValid()) {
                context.say(fmt::format("  {:<40} {:+.6g}{}", value.name, ops::algebra::sum(value.relevance),
                                        value.isOperand ? "  (operand)" : ""));
            }
        }
    }
}

} // namespace retro::app
