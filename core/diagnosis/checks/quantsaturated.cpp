// SPDX-License-Identifier: Apache-2.0
#include "core/diagnosis/checks/checks.h"
#include "core/diagnosis/numbertext.h"
#include "core/diagnosis/quantisedvalue.h"

#include <fmt/format.h>

namespace retro::diagnosis
{

namespace
{

/// Section 4.5, quant.saturated: share beyond the ends of the type: > 0.05; base 2.6, e = .5 + x/2.
constexpr double kMostAtEnds = 0.05;
constexpr double kSaturatedQuantBase = 2.6;

/// The last bin, and the first one where its end cuts off.
std::vector<std::size_t> binsAtEnds(const Chart& chart, bool countsLeast)
{
    std::vector<std::size_t> bins;
    if (countsLeast) {
        bins.push_back(0);
    }
    bins.push_back(chart.amounts.size() - 1);
    return bins;
}

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
        const double share = static_cast<double>(quantised->cut) / static_cast<double>(quantised->levels.size());
        probe.measured(node.name, share);
        if (!(share > kMostAtEnds)) {
            continue;
        }
        const Statistics& operand = facts.statistics(node.inputs.front());
        const std::string scale = quantised->scales.size() == 1
                                      ? numberText(quantised->scales.front())
                                      : fmt::format("of {} channels", quantised->scales.size());
        Finding& finding = probe.warning(kSaturatedQuantBase, 0.5 + share / 2, facts.place(id));
        finding.what = fmt::format("{} of {} values lie beyond the ends of its type {} … {}: its scale {} is too small",
                                   percentText(share), quantised->levels.size(), numberText(quantised->least),
                                   numberText(quantised->most), scale);
        finding.means =
            fmt::format("It cuts off what is larger (its input is {} … {}); no relevance goes through there.",
                        numberText(operand.least), numberText(operand.largest));
        finding.remedy = fmt::format("Calibrate the scale {} again", graph.value(node.inputs[1]).name);
        finding.numbers = {{"share_at_ends", share}, {"scale", quantised->scales.front()}};
        finding.threshold = kMostAtEnds;
        finding.chart = histogramOf("The levels that it uses, from end to end of its type", quantised->levels,
                                    {quantised->least, quantised->most}, {quantised->least, quantised->most});
        finding.chart.marked = binsAtEnds(finding.chart, quantised->countsLeast);
        finding.action = {"go to weights", {{"node", node.name}, {"value", graph.value(node.inputs[1]).name}}, {}};
    }
}

} // namespace

const Check quantSaturated{
    "quant.saturated", "share of a computed value beyond the ends of the type that it is quantised to",
    kMostAtEnds,       "0 (four exports quantised after training)",
    Need::Forward,     true,
    findQuantSaturated};

} // namespace retro::diagnosis
