// SPDX-License-Identifier: Apache-2.0
#include "core/diagnosis/checks/checks.h"
#include "core/diagnosis/numbertext.h"
#include "core/diagnosis/quantisedvalue.h"

#include <fmt/format.h>

#include <set>

namespace retro::diagnosis
{

namespace
{

/// Section 4.5, quant.coarse: fewer than 8 distinct levels, used by at least 16 values; e = .5.
constexpr std::size_t kFewestLevels = 8;
constexpr std::size_t kLeastValues = 16;
constexpr double kCoarseEffect = 0.5;
/// What is told of a value that has more.
constexpr std::size_t kMostLevelsCounted = 256;

std::size_t distinctIn(const std::vector<double>& numbers)
{
    std::set<double> seen;
    for (const double number : numbers) {
        seen.insert(number);
        if (seen.size() >= kMostLevelsCounted) {
            break;
        }
    }
    return seen.size();
}

void findCoarse(const Facts& facts, Probe& probe)
{
    const graph::Graph& graph = facts.graph();
    for (std::size_t i = 0; i < graph.nodeCount(); ++i) {
        const NodeId id(i);
        const std::optional<QuantisedValue> quantised = quantisedValueOf(facts, id);
        if (!quantised || quantised->levels.size() < kLeastValues) {
            continue;
        }
        const graph::Node& node = graph.node(id);
        const std::size_t levels = distinctIn(quantised->levels);
        probe.measured(node.name, static_cast<double>(kFewestLevels) / static_cast<double>(levels));
        // What has few different numbers before it is quantised needs no more levels; those beyond an end of the type
        // are one: a rectifier may have become that end.
        if (levels >= kFewestLevels || distinctIn(quantised->exact) < 2 * levels) {
            continue;
        }
        const Statistics& operand = facts.statistics(node.inputs.front());
        const bool hasScale = !quantised->scales.empty();
        Finding& finding = probe.warning(2, kCoarseEffect, facts.place(id));
        finding.what =
            fmt::format("its {} values use only {} levels{}", quantised->levels.size(), levels,
                        hasScale ? fmt::format(": its scale {} is too large", numberText(quantised->scales.front()))
                                 : std::string());
        finding.means = fmt::format("Most of what differs between values is gone (its input is {} … {}).",
                                    numberText(operand.least), numberText(operand.largest));
        finding.remedy = "Calibrate the scale again";
        finding.numbers = {{"levels", static_cast<double>(levels)},
                           {"values", static_cast<double>(quantised->levels.size())}};
        finding.threshold = kFewestLevels;
        finding.chart = histogramOf("The levels that it uses, from end to end of its type", quantised->levels,
                                    {quantised->least, quantised->most}, {quantised->least, quantised->most});
        finding.action = {"go to weights", {{"node", node.name}}, {}};
        if (hasScale) {
            finding.action.arguments["value"] = graph.value(node.inputs[1]).name;
        }
    }
}

} // namespace

const Check quantCoarse{"quant.coarse",
                        "8 / the number of levels that a quantised value of 16 numbers and more uses, where it had at "
                        "least twice as many different numbers within the ends of its type: > 1",
                        1,
                        "a classifier of 5 classes by 8 bits, one value with 7 levels of 7 numbers: none",
                        Need::Forward,
                        true,
                        findCoarse};

} // namespace retro::diagnosis
