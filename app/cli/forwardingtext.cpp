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
using nlohmann::ordered_json;

namespace
{

std::string bytesOf(std::int64_t bytes)
{
    return bytesText(static_cast<std::uint64_t>(std::max<std::int64_t>(bytes, 0)));
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

ordered_json forwardingJson(const engine::ForwardedGradient& made)
{
    return {{"forwarding", engine::forwardingJson(made, made.gradient.model->graph())},
            {"visited", made.gradient.visited},
            {"seconds",
             {{"bind", made.gradient.secondsBind},
              {"forward", made.gradient.secondsForward},
              {"reverse", made.gradient.secondsReverse}}},
            {"peak_bytes", made.gradient.peakBytes}};
}

} // namespace retro::app
