// SPDX-License-Identifier: Apache-2.0
#include "core/diagnosis/biasbefore.h"
#include "core/diagnosis/checks/checks.h"
#include "core/diagnosis/numbertext.h"
#include "core/diagnosis/samplechecks.h"
#include "core/diagnosis/ways.h"

#include <fmt/format.h>

#include <algorithm>
#include <span>

namespace retro::diagnosis
{

namespace
{

/// Section 4.4, forward.saturated: share beyond ±0.999, or 0.001 and 0.999 of gates: > 0.6; > 0.9: base 2.6; e = .9x.
constexpr double kMostSaturated = 0.6;
constexpr double kNearlyAll = 0.9;
constexpr double kNearlyAllBase = 2.6;
constexpr double kSaturatedEffect = 0.9;
constexpr double kNearOne = 0.999;
constexpr double kNearZero = 0.001;
/// Of a gate: it is closed where more than this part is below 0.001 (section 4.4).
constexpr double kClosed = 0.99;

/// Where the elements of an activation are.
struct Ends
{
    double low = 0; ///< shares
    double high = 0;
};

Ends endsOf(std::span<const double> numbers, bool isTanh)
{
    Ends ends;
    for (const double y : numbers) {
        ends.low += y < (isTanh ? -kNearOne : kNearZero) ? 1 : 0;
        ends.high += y > kNearOne ? 1 : 0;
    }
    const double count = std::max<double>(1, static_cast<double>(numbers.size()));
    return {ends.low / count, ends.high / count};
}

void reportSaturated(const Facts& facts, NodeId id, const Ends& ends, bool isTanh, Probe& probe)
{
    const graph::Node& node = facts.graph().node(id);
    const Tensor value = facts.value(node.outputs.front());
    const Statistics& operand = facts.statistics(node.inputs.front());
    const double share = ends.low + ends.high;
    const std::string which = samplesText(facts, value, saturatedCheck(facts, id));
    const bool isClosed = !isTanh && ends.low > kClosed;
    Finding& finding =
        probe.warning(share > kNearlyAll ? kNearlyAllBase : 2, kSaturatedEffect * share, facts.place(id));
    finding.what = isClosed ? fmt::format("is closed: {} of its {} outputs are below {} {} (its input is {} … {})",
                                          percentText(ends.low), value.size(), kNearZero, which,
                                          numberText(operand.least), numberText(operand.largest))
                            : fmt::format("is saturated: {} of its {} outputs are beyond {} {} (its input is {} … {})",
                                          percentText(share), value.size(), isTanh ? "±0.999" : "0.001 or 0.999", which,
                                          numberText(operand.least), numberText(operand.largest));
    finding.means = isClosed ? "It lets nothing of the other operand through, and what is behind it gets nothing."
                             : "It says little but the sign of its input, and its gradient is 0 nearly everywhere.";
    finding.remedy = adviceBefore(facts, id, "Look at the scale of the weights before it");
    finding.numbers = {{"share_saturated", share}, {"share_low", ends.low}, {"share_high", ends.high}};
    finding.threshold = kMostSaturated;
    const double least = isTanh ? -kNearOne : kNearZero;
    finding.chart = histogramOf("Its outputs, and from where on they count as saturated", numbersIn(value),
                                {least, kNearOne}, {least, kNearOne});
    finding.action = {"go to node", {{"node", node.name}}, {}};
}

void findSaturated(const Facts& facts, Probe& probe)
{
    const graph::Graph& graph = facts.graph();
    const std::vector<bool> isInside = linearBehind(facts);
    for (std::size_t i = 0; i < graph.nodeCount(); ++i) {
        const NodeId id(i);
        const graph::Node& node = graph.node(id);
        const bool isTanh = node.op == "Tanh";
        const bool isSigmoid = node.op == "Sigmoid" || node.op == "HardSigmoid";
        // What the target is squashed by at last may well be sure of itself: target.squashed.
        if (!(isTanh || isSigmoid) || !isInside[i]) {
            continue;
        }
        const Ends ends = endsOf(numbersIn(facts.value(node.outputs.front())), isTanh);
        probe.measured(node.name, ends.low + ends.high);
        if (ends.low + ends.high > kMostSaturated) {
            reportSaturated(facts, id, ends, isTanh, probe);
        }
    }
}

} // namespace

SampleCheck saturatedCheck(const Facts& facts, NodeId node)
{
    const std::string& name = facts.graph().node(node).op;
    if ((name != "Tanh" && name != "Sigmoid" && name != "HardSigmoid") || !linearBehind(facts)[node.index()]) {
        return {};
    }
    return [isTanh = name == "Tanh"](std::span<const double> sample) {
        const Ends own = endsOf(sample, isTanh);
        return own.low + own.high > kMostSaturated;
    };
}

const Check forwardSaturated{
    "forward.saturated", "share of a Tanh beyond ±0.999, of a Sigmoid beyond 0.001 and 0.999, inside of a model",
    kMostSaturated,      "0 (trained), up to 0.02 (random weights)",
    Need::Forward,       true,
    findSaturated};

} // namespace retro::diagnosis
