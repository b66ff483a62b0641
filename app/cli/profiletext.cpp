// SPDX-License-Identifier: Apache-2.0
#include "app/cli/profiletext.h"

#include "app/cli/planningoptions.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>

namespace retro::app
{

namespace
{

std::string sizeText(std::int64_t bytes)
{
    return bytesText(static_cast<std::uint64_t>(std::max<std::int64_t>(bytes, 0)));
}

void sayChoices(const Context& context, const trace::Profile& profile)
{
    std::array<std::size_t, event::kMemoryChoiceCount> counts{};
    std::array<std::int64_t, event::kMemoryChoiceCount> bytes{};
    for (const trace::DecisionRow& one : profile.decisions) {
        ++counts[static_cast<std::size_t>(one.choice)];
        bytes[static_cast<std::size_t>(one.choice)] += one.bytes;
    }
    std::string text;
    for (std::size_t i = 0; i < counts.size(); ++i) {
        if (counts[i] > 0) {
            text += fmt::format("{}{} {} ({})", text.empty() ? "" : ", ",
                                event::nameOf(static_cast<event::MemoryChoice>(i)), counts[i], sizeText(bytes[i]));
        }
    }
    if (!text.empty()) {
        context.say("values: " + text);
    }
}

} // namespace

void sayProfile(const Context& context, const graph::Graph& graph, const trace::Profile& profile, std::size_t most)
{
    const std::vector<trace::NodeTotal> totals = trace::byTime(trace::nodeTotals(profile, graph.nodeCount()));
    context.table(trace::totalFields(graph), std::span(totals).first(std::min(most, totals.size())));
    if (most < totals.size()) {
        context.say(fmt::format("… and {} more", totals.size() - most));
    }
    sayChoices(context, profile);
}

} // namespace retro::app
