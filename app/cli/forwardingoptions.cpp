// SPDX-License-Identifier: Apache-2.0
#include "app/cli/forwardingoptions.h"

#include "app/cli/planningoptions.h"
#include "core/engine/forwarding/forwardingjson.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>

namespace retro::app
{

using base::Result;
using engine::ForwardDecision;
using engine::ForwardForm;
using engine::ForwardStrategy;
using engine::OperatorCost;
using nlohmann::ordered_json;

namespace
{

const std::map<std::string, ForwardStrategy>& strategies()
{
    static const std::map<std::string, ForwardStrategy> all{{"store", ForwardStrategy::Store},
                                                            {"rebuild", ForwardStrategy::Rebuild},
                                                            {"compress", ForwardStrategy::Compress},
                                                            {"optimal", ForwardStrategy::Optimal}};
    return all;
}

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

void sayProfile(const Context& context, const ForwardingOptions& options, const engine::ForwardedGradient& made)
{
    context.say(fmt::format("{:<32} {:<18} {:>10} {:>10} {:>10} {:>12} {:>11} {:>11} {:>11}", "operator", "",
                            "forward ms", "reverse ms", "rebuild ms", "results", "MFLOP", "reverse", "rebuild"));
    const graph::Graph& graph = made.gradient.model->graph();
    const std::vector<OperatorCost> costs = byTime(made);
    for (std::size_t i = 0; i < std::min(options.rows, costs.size()); ++i) {
        const OperatorCost& one = costs[i];
        const graph::Node& node = graph.node(one.node);
        context.say(fmt::format("{:<32} {:<18} {:>10.3f} {:>10.3f} {:>10.3f} {:>12} {:>11.3f} {:>11.3f} {:>11.3f}",
                                node.name, node.op, one.forwardSeconds * 1e3, one.reverseSeconds * 1e3,
                                one.rebuildSeconds * 1e3, bytesOf(one.bytes), one.flops / 1e6, one.reverseFlops / 1e6,
                                one.rebuildFlops / 1e6));
    }
    if (options.rows < costs.size()) {
        context.say(fmt::format("… and {} more", costs.size() - options.rows));
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

} // namespace

void ForwardingOptions::addChoicesTo(CLI::App& verb)
{
    std::vector<std::string> names;
    for (const auto& [name, known] : strategies()) {
        names.push_back(name);
    }
    verb.add_option(
            "--forward", strategy,
            "How forward values get to the rules that read them: store, rebuild, compress (signs and winners where "
            "readers need no more), optimal (cheapest within --forward-budget)")
        ->check(CLI::IsMember(names));
    addBytesOption(
        verb, "--forward-budget", [this](std::uint64_t bytes) { budget = bytes; },
        "Bytes of the modelled peak, such as 500MB, for --forward optimal");
    verb.add_option("--forward-value", choices, "NAME=store, NAME=rebuild or NAME=compress, before the strategy")
        ->allow_extra_args(false);
    verb.add_option("--checkpoint-every", checkpointEvery,
                    "Loop and Scan keep what they carry every so many iterations and are computed again from there; "
                    "0: chosen, short loops are kept whole")
        ->check(CLI::NonNegativeNumber);
}

void ForwardingOptions::addTo(CLI::App& verb)
{
    addChoicesTo(verb);
    verb.add_flag("--profile", isProfiled, "Time, bytes and operations of every operator of the pass");
    verb.add_option("--profile-rows", rows, "Operators to print, the most expensive first (default 12; --json has all)")
        ->check(CLI::NonNegativeNumber);
}

Result<engine::ForwardingWish> ForwardingOptions::wish() const
{
    if (budget > 0 && strategy != "optimal") {
        return base::usageError("only --forward optimal keeps within a budget; add it, or leave the budget out",
                                "--forward-budget");
    }
    engine::ForwardingWish wish;
    wish.strategy = strategy.empty() ? ForwardStrategy::Store : strategies().at(strategy);
    if (budget > 0) {
        wish.budget = static_cast<std::int64_t>(budget);
    }
    wish.checkpointEvery = checkpointEvery;
    const std::map<std::string, ForwardForm> forms{
        {"store", ForwardForm::Store}, {"rebuild", ForwardForm::Rebuild}, {"compress", ForwardForm::Compress}};
    for (const std::string& choice : choices) {
        const std::size_t at = choice.rfind('=');
        const auto form = at == std::string::npos ? forms.end() : forms.find(choice.substr(at + 1));
        if (form == forms.end()) {
            return base::usageError(
                fmt::format("\"{}\" is no choice; write NAME=store, NAME=rebuild or NAME=compress", choice),
                "--forward-value");
        }
        wish.choices[choice.substr(0, at)] = form->second;
    }
    return wish;
}

namespace
{

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
        context.say(fmt::format("  … and {} more that are not as wished for", count - most));
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

void sayForwarding(const Context& context, const ForwardingOptions& options, const engine::ForwardedGradient& made)
{
    sayForwarding(context, made.forwarding(), made.gradient.model->graph(), options.rows);
    if (options.isProfiled) {
        sayProfile(context, options, made);
    }
}

ordered_json forwardingJson(const ForwardingOptions& options, const engine::ForwardedGradient& made)
{
    ordered_json json{{"forwarding", engine::forwardingJson(made.forwarding(), made.gradient.model->graph())},
                      {"visited", made.gradient.visited},
                      {"seconds",
                       {{"bind", made.gradient.secondsBind},
                        {"forward", made.gradient.secondsForward},
                        {"reverse", made.gradient.secondsReverse}}},
                      {"peak_bytes", made.gradient.peakBytes}};
    if (options.isProfiled) {
        json["profile"] = profileJson(made);
    }
    return json;
}

} // namespace retro::app
