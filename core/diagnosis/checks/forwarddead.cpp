// SPDX-License-Identifier: Apache-2.0
#include "core/diagnosis/biasbefore.h"
#include "core/diagnosis/checks/checks.h"
#include "core/diagnosis/numbertext.h"
#include "core/diagnosis/samplechecks.h"
#include "core/diagnosis/watched.h"
#include "core/diagnosis/ways.h"
#include "core/ops/elements.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <string_view>

namespace retro::diagnosis
{

namespace
{

/// Section 4.4, forward.dead: every output is 0, of at least 8 channels (by chance 2⁻ᶜ for C channels:
/// with fewer a note); base and e.
constexpr double kAllZero = 1;
/// Nearly all, where a bias makes what is read: healthy models reach 0.96 without one.
constexpr double kNearlyDead = 0.98;
constexpr double kNearlyDeadBase = 2.1;
constexpr std::int64_t kLeastDeadChannels = 8;
constexpr double kDeadBase = 2.9;
constexpr double kDeadEffect = 0.9;
/// Of a smooth rectifier: this share of its input, and less, is next to nothing.
constexpr double kNextToNothing = 1e-3;
constexpr double kNoBound = std::numeric_limits<double>::infinity();

/// Rectifiers: 0 wherever their operand lies below a bound.
bool rectifies(const Facts& facts, const graph::Node& node)
{
    const bool hasLower =
        ops::areElements(node, {ops::Elements::Bounded}) && node.inputs.size() > 1 && node.inputs[1].isValid();
    return isRectifier(node, hasLower ? facts.value(node.inputs[1]) : Tensor());
}

/// Smooth ones: far below 0 they hand on next to nothing.
bool isSmoothRectifier(const graph::Node& node)
{
    static constexpr std::array<std::string_view, 3> kNames{"Gelu", "Swish", "Mish"};
    return std::ranges::find(kNames, std::string_view(node.op)) != kNames.end();
}

/// How many elements a smooth rectifier hands on less of than kNextToNothing.
std::int64_t lostIn(const Tensor& before, const Tensor& after)
{
    const std::vector<double> x = numbersIn(before);
    const std::vector<double> y = numbersIn(after);
    std::int64_t lost = 0;
    for (std::size_t i = 0; i < x.size() && x.size() == y.size(); ++i) {
        lost += std::abs(y[i]) <= kNextToNothing * std::abs(x[i]) ? 1 : 0;
    }
    return lost;
}

/// Along axis 1 of a picture; of a series either of the two last axes.
std::int64_t channelsOf(const tensor::Shape& shape)
{
    if (shape.empty()) {
        return 0;
    }
    return shape.size() == 3 ? std::max(shape[1], shape[2]) : shape[std::min<std::size_t>(1, shape.size() - 1)];
}

/// What a rectifier gives, and the share of it that is 0.
struct Rectified
{
    NodeId id;
    bool isSmooth = false;
    Tensor value;
    double share = 0;

    [[nodiscard]] bool isNearly() const { return share < kAllZero; }
};

/// None where the node is no rectifier of the target, or its value is not there.
std::optional<Rectified> rectified(const Facts& facts, NodeId id)
{
    const graph::Node& node = facts.graph().node(id);
    const bool isSmooth = isSmoothRectifier(node);
    if ((!isSmooth && !rectifies(facts, node)) || !reachesTarget(facts, id)) {
        return std::nullopt;
    }
    const Tensor value = facts.value(node.outputs.front());
    if (!value.isValid() || value.size() == 0) {
        return std::nullopt;
    }
    const std::int64_t lost = isSmooth ? lostIn(facts.value(node.inputs.front()), value) : zerosIn(value);
    return Rectified{id, isSmooth, value, static_cast<double>(lost) / static_cast<double>(value.size())};
}

std::string deadText(const Facts& facts, const Rectified& dead, double largest)
{
    const std::string which = samplesText(facts, dead.value, [](std::span<const double>) { return true; });
    const std::string_view zero = dead.isSmooth ? "next to 0" : "0";
    return dead.isNearly() ? fmt::format("is nearly dead: {} of its {} outputs are {}", percentText(dead.share),
                                         dead.value.size(), zero)
                           : fmt::format("is dead: all {} outputs are {} {} (its input is at most {})",
                                         dead.value.size(), zero, which, numberText(largest));
}

void noteDead(const Facts& facts, Probe& probe, const Rectified& dead)
{
    const graph::Node& node = facts.graph().node(dead.id);
    const double largest = facts.statistics(node.inputs.front()).largest;
    const bool isChance = channelsOf(dead.value.shape()) < kLeastDeadChannels;
    const double base = dead.isNearly() ? kNearlyDeadBase : kDeadBase;
    Finding& finding = isChance ? probe.note(kDeadEffect, facts.place(dead.id))
                                : probe.warning(base, kDeadEffect, facts.place(dead.id));
    finding.what = deadText(facts, dead, largest);
    finding.means = "The branch before it hands nothing on; relevance goes along other paths.";
    finding.remedy = adviceBefore(facts, dead.id, "Look at the bias of the layer before it");
    finding.numbers = {{"share_of_zeros", dead.share}, {"largest_of_input", largest}};
    finding.threshold = kAllZero;
    finding.chart = histogramOf("What it reads; what lies below its bound becomes 0",
                                numbersIn(facts.value(node.inputs.front())), {0}, {0, kNoBound});
    finding.action = {"go to node", {{"node", node.name}}, {}};
}

void findDead(const Facts& facts, Probe& probe)
{
    const graph::Graph& graph = facts.graph();
    for (std::size_t i = 0; i < graph.nodeCount(); ++i) {
        const std::optional<Rectified> found = rectified(facts, NodeId(i));
        if (!found) {
            continue;
        }
        probe.measured(graph.node(found->id).name, found->share);
        if (!found->isNearly() || (found->share >= kNearlyDead && biasBefore(facts, found->id))) {
            noteDead(facts, probe, *found);
        }
    }
}

} // namespace

SampleCheck deadCheck(const Facts& facts, NodeId node)
{
    if (!rectifies(facts, facts.graph().node(node)) || !reachesTarget(facts, node)) {
        return {};
    }
    return [](std::span<const double> sample) { return std::ranges::all_of(sample, [](double y) { return y == 0; }); };
}

const Check forwardDead{"forward.dead", "share of the outputs of a rectifier (Relu, Clip from 0, Gelu, …) that are 0",
                        kAllZero,       "up to 0.96 (trained), 0.71 (random weights)",
                        Need::Forward,  true,
                        findDead};

} // namespace retro::diagnosis
