// SPDX-License-Identifier: Apache-2.0
#include "core/diagnosis/attentionmaps.h"
#include "core/diagnosis/checks/checks.h"
#include "core/diagnosis/numbertext.h"

#include <fmt/format.h>

#include <algorithm>

namespace retro::diagnosis
{

namespace
{

/// Section 4.5, attention.leak: weight above the diagonal of a causal attention: ≤ 1e-6; base and e = .5 + x.
constexpr double kMostAboveOfCausal = 1e-6;
constexpr double kLeakBase = 2.6;
constexpr double kLeakEffect = 0.5;
constexpr std::size_t kLeastOfStack = 2;

void reportLeak(const Facts& facts, const AttentionMap& map, std::size_t causal, std::size_t all, Probe& probe)
{
    Place place = facts.place(map.node);
    place.name = map.name;
    Finding& finding = probe.warning(kLeakBase, kLeakEffect + map.shareAbove, std::move(place));
    finding.what = fmt::format("attends to later positions: {} of its weight lies above the diagonal; {} of {} like it "
                               "have none there",
                               percentText(map.shareAbove), causal, all);
    finding.means = "Its causal mask is missing: relevance reaches positions that the model must not see.";
    finding.remedy = "Compare the mask with that of the others";
    finding.numbers = {{"share_above_diagonal", map.shareAbove}, {"largest_above_diagonal", map.largestAbove}};
    finding.threshold = kMostAboveOfCausal;
    finding.chart = mapOf("Weight of each position (row) on the others, all heads: behind the diagonal is later",
                          map.mean, static_cast<std::size_t>(map.shape.back()), true);
    finding.action = {"go to node", {{"node", facts.graph().labelOf(map.node)}}, {}};
}

void findLeaks(const Facts& facts, Probe& probe)
{
    for (const std::vector<AttentionMap>& maps : attentionStacks(facts)) {
        const auto causal = static_cast<std::size_t>(std::ranges::count_if(
            maps, [](const AttentionMap& map) { return map.largestAbove <= kMostAboveOfCausal; }));
        // At least one, and at least half of them (section 4.5).
        const bool isCausal = maps.size() >= kLeastOfStack && causal > 0 && 2 * causal >= maps.size();
        for (const AttentionMap& map : maps) {
            probe.measured(map.name, isCausal ? map.shareAbove : 0);
            if (isCausal && map.largestAbove > kMostAboveOfCausal) {
                reportLeak(facts, map, causal, maps.size(), probe);
            }
        }
    }
}

} // namespace

const Check attentionLeak{"attention.leak",   "weight above the diagonal of an attention whose stack is causal",
                          kMostAboveOfCausal, "0",
                          Need::Forward,      true,
                          findLeaks};

} // namespace retro::diagnosis
