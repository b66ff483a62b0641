// SPDX-License-Identifier: Apache-2.0
#include "core/diagnosis/attentionmaps.h"
#include "core/diagnosis/checks/checks.h"
#include "core/diagnosis/numbertext.h"

#include <fmt/format.h>

namespace retro::diagnosis
{

namespace
{

/// Share of the rows of an attention in which one key has 0.999 of the weight and more; of so many rows and more.
constexpr double kMostOfOneKey = 0.7;
constexpr std::size_t kLeastSharpRows = 4;
constexpr double kSharpEffect = 0.9;

void findSharp(const Facts& facts, Probe& probe)
{
    for (const AttentionMap& map : facts.attentionMaps()) {
        if (map.rows < kLeastSharpRows) {
            continue;
        }
        const double share = static_cast<double>(map.rowsOfOneKey) / static_cast<double>(map.rows);
        probe.measured(map.name, share);
        if (!(share > kMostOfOneKey)) {
            continue;
        }
        Place place = facts.place(map.node);
        place.name = map.name;
        Finding& finding = probe.warning(2, kSharpEffect * share, std::move(place));
        finding.what = fmt::format("is saturated: in {} of its {} rows one key has more than 0.999 of the weight",
                                   percentText(share), map.rows);
        finding.means = "It picks one position whatever the others hold, and the gradient of its scores is 0.";
        finding.remedy = "Look at the scale of queries and keys, and at the division by the root of their width";
        finding.numbers = {{"share_of_rows", share}, {"rows", static_cast<double>(map.rows)}};
        finding.threshold = kMostOfOneKey;
        finding.chart = mapOf("Weight of each position (row) on the others, all heads", map.mean,
                              static_cast<std::size_t>(map.shape.back()), false);
        finding.action = {"go to node", {{"node", facts.graph().labelOf(map.node)}}, {}};
    }
}

} // namespace

const Check attentionSharp{
    "attention.sharp", "share of the rows of an attention in which one key has more than 0.999 of the weight",
    kMostOfOneKey,     "up to 0.02 (trained), 0 (random weights)",
    Need::Forward,     true,
    findSharp};

} // namespace retro::diagnosis
