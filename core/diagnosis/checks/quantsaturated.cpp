// SPDX-License-Identifier: Apache-2.0
#include "core/diagnosis/checks/checks.h"
#include "core/diagnosis/numbertext.h"
#include "core/diagnosis/quantisedvalue.h"

#include <fmt/format.h>

namespace retro::diagnosis
{

namespace
{

/// Section 4.5, quant.saturated: share at the ends of the type: > 0.05; base 2.6, e = .5 + x/2.
constexpr double kMostAtEnds = 0.05;
constexpr double kSaturatedQuantBase = 2.6;

void findQuantSaturated(const Facts& facts, Probe& probe)
{
    const graph::Graph& graph = facts.graph();
    for (std::size_t i = 0; i < graph.nodeCount(); ++i) {
        const NodeId id(i);
        const std::optional<QuantisedValue> quantised = quantisedValueOf(facts, id);
        if (!quantised || quantised->scales.empty() || quantised->levels.empty()) {
            continue;
        }
        const graph::Node& node = graph.node(id);
        double ends = 0;
        for (const double level : quantised->levels) {
            const bool isLow = quantised->countsLeast && level <= quantised->least;
            ends += isLow || level >= quantised->most ? 1 : 0;
        }
        const double share = ends / static_cast<double>(quantised->levels.size());
        probe.measured(node.name, share);
        if (!(share > kMostAtEnds)) {
            continue;
        }
        const Statistics& operand = facts.statistics(node.inputs.front());
        const std::string scale = quantised->scales.size() == 1
                                      ? numberText(quantised->scales.front())
                                      : fmt::format("of {} channels", quantised->scales.size());
        Finding& finding = probe.warning(kSaturatedQuantBase, 0.5 + share / 2, facts.place(id));
        finding.what = fmt::format("{} of {} values lie at the ends of its type {} … {}: its scale {} is too small",
                                   percentText(share), quantised->levels.size(), numberText(quantised->least),
                                   numberText(quantised->most), scale);
        finding.means =
            fmt::format("It cuts off what is larger (its input is {} … {}); no relevance goes through there.",
                        numberText(operand.least), numberText(operand.largest));
        finding.remedy = fmt::format("Calibrate the scale {} again", graph.value(node.inputs[1]).name);
        finding.numbers = {{"share_at_ends", share}, {"scale", quantised->scales.front()}};
        finding.threshold = kMostAtEnds;
        finding.action = {"go to weights", {{"node", node.name}, {"value", graph.value(node.inputs[1]).name}}, {}};
    }
}

} // namespace

const Check quantSaturated{
    "quant.saturated", "share of a computed value at the ends of the type that it is quantised to",
    kMostAtEnds,       "no quantised models were measured but those with a fault",
    Need::Forward,     true,
    findQuantSaturated};

} // namespace retro::diagnosis
