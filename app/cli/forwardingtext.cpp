// SPDX-License-Identifier: Apache-2.0
#include "app/cli/forwardingtext.h"

#include "app/cli/planningoptions.h"
#include "core/engine/forwarding/forwardingjson.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>

namespace retro::app
{

using engine::ForwardDecision;
using engine::ForwardForm;
using engine::OperatorCost;
using nlohmann::ordered_json;

namespace
{

std::string bytesOf(std::int64_t bytes)
{
    return bytesText(static_cast<std::uint64_t>(std::max<std::int64_t>(bytes, 0)));
}

/// The most expensive first.
std::vector<OperatorCost> byTime(const engine::ForwardedGradient& made)
{
    std::vector<OperatorCost> costs = made.costs;
    const auto total = [](const OperatorCost& one) {
        return one.forwardSeconds + one.reverseSeconds + one.rebuildSeconds;
    };
    std::ranges::stable_sort(costs, [&](const auto& a, const auto& b) { return total(a) > total(b); });
    return costs;
}

void sayProfile(const Context& context, const engine::ForwardedGradient& made, std::size_t most)
{
    context.say(fmt::format("{:<32} {:<18} {:>10} {:>10} {:>10} {:>12} {:>11} {:>11} {:>11}", "operator", "",
                            "forward ms", "reverse ms", "rebuild ms", "results", "MFLOP", "reverse", "rebuild"));
    const graph::Graph& graph = made.gradient.model->graph();
    const std::vector<OperatorCost> costs = byTime(made);
    for (std::size_t i = 0; i < std::min(most, costs.size()); ++i) {
        const OperatorCost& one = costs[i];
        const graph::Node& node = graph.node(one.node);
        context.say(fmt::format("{:<32} {:<18} {:>10.3f} {:>10.3f} {:>10.3f} {:>12} {:>11.3f} {:>11.3f} {:>11.3f}",
                                node.name, node.op, one.forwardSeconds * 1e3, one.reverseSeconds * 1e3,
                                one.rebuildSeconds * 1e3, bytesOf(one.bytes), one.flops / 1e6, one.reverseFlops / 1e6,
                                one.rebuildFlops / 1e6));
    }
    if (most < costs.size()) {
        context.say(fmt::format("… and {} more", costs.size() - most));
    }
}

ordered_json profileJson(const engine::ForwardedGradient& made)
{
    ordered_json list = ordered_json::array();
    for (const OperatorCost& one : made.costs) {
        const graph::Node& node = made.gradient.model->graph().node(one.node);
        list.push_back({{"node", node.name},
                        {"operator", node.op},
                        {"forward_seconds", one.forwardSeconds},
                        {"reverse_seconds", one.reverseSeconds},
                        {"rebuild_seconds", one.rebuildSeconds},
                        {"result_bytes", one.bytes},
                        {"flops", one.flops},
                        {"reverse_flops", one.reverseFlops},
                        {"rebuild_flops", one.rebuildFlops},
                        {"rebuilds", one.rebuilds}});
    }
    return list;
}

void sayForms(const Context& context, const engine::ForwardingDone& done)
{
    std::map<ForwardForm, std::size_t> counts;
    for (const ForwardDecision& one : done.plan.decisions) {
        ++counts[one.form];
    }
    std::string text;
    for (const auto& [form, count] : counts) {
        text += fmt::format("{}{} {}", text.empty() ? "" : ", ", count, engine::nameOf(form));
    }
    context.say(fmt::format("{} forward values are needed: {}", done.plan.decisions.size(), text));
    const std::int64_t saved = done.storedBytes - done.keptBytes;
    context.say(fmt::format("kept {} of {}, {} saved; {} operators computed again", bytesOf(done.keptBytes),
                            bytesOf(done.storedBytes), bytesOf(saved), done.rebuilds()));
}

void sayLoops(const Context& context, const engine::ForwardingDone& done)
{
    for (const engine::LoopCheckpoints& loop : done.plan.segments.loops()) {
        const std::string how =
            loop.every == 0 ? std::string("kept whole") : fmt::format("a checkpoint every {}", loop.every);
        context.say(fmt::format("{}: {} iterations, {}", loop.loop, loop.iterations, how));
    }
}

/// What is not as it was wished for.
void sayFallbacks(const Context& context, const engine::ForwardingDone& done, const graph::Graph& graph,
                  std::size_t most)
{
    std::size_t count = 0;
    for (const ForwardDecision& one : done.plan.decisions) {
        if (one.isFallback && count++ < most) {
            context.say(fmt::format("  {}: {}", graph.value(one.value).name, one.reason));
        }
    }
    if (count > most) {
        context.say(fmt::format("  … and {} more that are not as asked for", count - most));
    }
}

} // namespace

void sayForwarding(const Context& context, const engine::ForwardingDone& done, const graph::Graph& graph,
                   std::size_t most)
{
    sayForms(context, done);
    sayLoops(context, done);
    if (done.plan.modelledPeak) {
        context.say(fmt::format("modelled peak {}{}", bytesOf(*done.plan.modelledPeak),
                                done.plan.isProven ? "" : " (the search ended at its limit)"));
    }
    sayFallbacks(context, done, graph, most);
}

void sayForwarding(const Context& context, const engine::ForwardedGradient& made, bool isProfiled, std::size_t most)
{
    sayForwarding(context, made.forwarding(), made.gradient.model->graph(), most);
    if (isProfiled) {
        sayProfile(context, made, most);
    }
}

ordered_json forwardingJson(const engine::ForwardedGradient& made, bool isProfiled)
{
    ordered_json json{{"forwarding", engine::forwardingJson(made.forwarding(), made.gradient.model->graph())},
                      {"visited", made.gradient.visited},
                      {"seconds",
                       {{"bind", made.gradient.secondsBind},
                        {"forward", made.gradient.secondsForward},
                        {"reverse", made.gradient.secondsReverse}}},
                      {"peak_bytes", made.gradient.peakBytes}};
    if (isProfiled) {
        json["profile"] = profileJson(made);
    }
    return json;
}

} // namespace retro::app
