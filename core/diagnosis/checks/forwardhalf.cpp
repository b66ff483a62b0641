// SPDX-License-Identifier: Apache-2.0
#include "core/diagnosis/checks/checks.h"
#include "core/diagnosis/numbertext.h"
#include "core/diagnosis/ways.h"
#include "core/graph/attributes.h"
#include "core/ops/layerkind.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>

namespace retro::diagnosis
{

namespace
{

/// Section 4.4, forward.half: non-zero values that become 0: > 1 %, or any that becomes infinite; an error where more
/// than half is lost, or one is infinite.
constexpr double kMostLostInHalf = 0.01;
constexpr double kLostInHalf = 0.5;

/// What a cast does to its operand.
struct Loss
{
    double nonZero = 0; ///< elements of the operand
    double toZero = 0;
    double toInfinity = 0;
    double least = 0; ///< of the absolute values that become 0, the largest
};

Loss lossOf(const Tensor& before, const Tensor& after)
{
    const std::vector<double> x = numbersIn(before);
    const std::vector<double> y = numbersIn(after);
    Loss loss;
    for (std::size_t i = 0; i < x.size() && i < y.size(); ++i) {
        if (x[i] == 0 || !std::isfinite(x[i])) {
            continue;
        }
        ++loss.nonZero;
        loss.toInfinity += std::isinf(y[i]) ? 1 : 0;
        if (y[i] == 0) {
            ++loss.toZero;
            loss.least = std::max(loss.least, std::abs(x[i]));
        }
    }
    return loss;
}

std::string_view halfTypeOf(const graph::Node& node)
{
    constexpr std::int64_t kFloat16 = 10; // of ONNX's enumeration of types
    constexpr std::int64_t kBfloat16 = 16;
    const std::int64_t to = ops::isCast(node) ? graph::intAttribute(node, "to", 0) : 0;
    return to == kFloat16 ? "float16" : to == kBfloat16 ? "bfloat16" : "";
}

/// Sizes of the values, and between which ones the type holds them.
Chart halfChart(const std::vector<double>& numbers, std::string_view type)
{
    constexpr std::array<double, 2> kFloat16{-7.53, 4.82}; // log10 of the half of the least, and of the largest
    constexpr std::array<double, 2> kBfloat16{-40.34, 38.53};
    const std::array<double, 2>& ends = type == "float16" ? kFloat16 : kBfloat16;
    std::vector<double> sizes;
    for (const double number : numbers) {
        if (number != 0) {
            sizes.push_back(std::log10(std::abs(number)));
        }
    }
    return histogramOf(fmt::format("log10 of the size of what it reads, and what {} holds", type), sizes,
                       {ends[0], ends[1]}, {ends[0], ends[1]});
}

/// `share` of the values that are not 0 become 0.
void noteHalf(const Facts& facts, Probe& probe, NodeId id, const Loss& loss, double share)
{
    const graph::Node& node = facts.graph().node(id);
    const std::string_view type = halfTypeOf(node);
    const bool isTotal = share > kLostInHalf || loss.toInfinity > 0;
    const double effect = loss.toInfinity > 0 ? 1 : share;
    Finding& finding = isTotal ? probe.error(effect, facts.place(id)) : probe.warning(2, effect, facts.place(id));
    finding.what = loss.toInfinity > 0 ? fmt::format("{} of {} values become infinite in {}: they are beyond its range",
                                                     loss.toInfinity, loss.nonZero, type)
                                       : fmt::format("{} of {} values that are not 0 become 0 in {} (values up to {})",
                                                     percentText(share), loss.nonZero, type, numberText(loss.least));
    finding.means = "What is lost here reaches nothing behind it, and nothing behind it explains it.";
    finding.remedy = "Keep float32 here, or scale the values before the cast";
    finding.numbers = {{"share_to_zero", share}, {"to_infinity", loss.toInfinity}};
    finding.threshold = kMostLostInHalf;
    finding.chart = halfChart(numbersIn(facts.value(node.inputs.front())), type);
    finding.action = {"go to node", {{"node", node.name}}, {}};
}

void findHalf(const Facts& facts, Probe& probe)
{
    const graph::Graph& graph = facts.graph();
    for (std::size_t i = 0; i < graph.nodeCount(); ++i) {
        const NodeId id(i);
        const graph::Node& node = graph.node(id);
        if (halfTypeOf(node).empty() || !graph.nodeOf(node.inputs.front()).isValid() || !reachesTarget(facts, id)) {
            continue;
        }
        const Loss loss = lossOf(facts.value(node.inputs.front()), facts.value(node.outputs.front()));
        const double share = loss.nonZero > 0 ? loss.toZero / loss.nonZero : 0;
        probe.measured(node.name, std::max(share, loss.toInfinity > 0 ? 1.0 : 0.0));
        if (share > kMostLostInHalf || loss.toInfinity > 0) {
            noteHalf(facts, probe, id, loss, share);
        }
    }
}

} // namespace

const Check forwardHalf{
    "forward.half",  "share of the values of a cast to float16 or bfloat16 that become 0; 1 where one is infinite",
    kMostLostInHalf, "no such casts were measured",
    Need::Forward,   true,
    findHalf};

} // namespace retro::diagnosis
