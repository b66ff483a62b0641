// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/diagnosis/check.h"
#include "core/diagnosis/numbertext.h"

#include <fmt/format.h>

namespace retro::diagnosis
{

/// Results of so many elements that are one number everywhere tell nothing apart.
inline constexpr std::int64_t kLeastFlatElements = 4;
inline constexpr double kFlatEffect = 0.2;

inline void findFlat(const Facts& facts, Probe& probe)
{
    const graph::Graph& graph = facts.graph();
    for (std::size_t i = 0; i < graph.nodeCount(); ++i) {
        const NodeId node(i);
        const Statistics& of = facts.statistics(graph.node(node).outputs.front()); // one sweep, shared by all checks
        if (!facts.leadsToTarget()[i] || of.count < kLeastFlatElements) {
            continue;
        }
        const double spread = of.largest - of.least;
        probe.measured(graph.labelOf(node), spread); // every place, flat or not: thresholds are measured again by it
        if (spread > 0) {
            continue;
        }
        Finding& finding = probe.note(kFlatEffect, facts.place(node));
        finding.what = fmt::format("all {} elements of its result are {}", of.count, numberText(of.mean));
        finding.means = "For this input it tells nothing apart.";
        finding.remedy = "Look at what it reads";
        finding.numbers = {{"spread", spread}};
        finding.action = {"go to node", {{"node", graph.labelOf(node)}}, {}};
    }
}

inline const Check forwardFlat{
    "forward.flat", "largest minus least element of a result", 0, "above 0", Need::Forward, true, findFlat};

} // namespace retro::diagnosis
