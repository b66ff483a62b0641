// SPDX-License-Identifier: Apache-2.0
#include "core/diagnosis/checks/checks.h"
#include "core/diagnosis/numbertext.h"
#include "core/diagnosis/outlier.h"
#include "core/ops/elements.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <optional>
#include <string_view>

namespace retro::diagnosis
{

namespace
{

/// |scale| of a channel of a normalisation beside the median: > 50, as of batches (section 4.1, model.bn-outlier), and
/// e.
constexpr double kLargestScaleRatio = 50;
constexpr double kScaleEffect = 0.8;

/// Normalisations by the input itself, and the slot of their scale.
struct ScaledBy
{
    std::string_view op;
    std::size_t slot;
};
constexpr std::array kScaled{ScaledBy{"LayerNormalization", 1}, ScaledBy{"GroupNormalization", 1},
                             ScaledBy{"InstanceNormalization", 1}, ScaledBy{"RMSNormalization", 1},
                             ScaledBy{"SimplifiedLayerNormalization", 1}};

/// True for (x − mean)/√(variance + ε) that a file writes out: a division by a root.
bool isNormalised(const graph::Graph& graph, ValueId value)
{
    const NodeId producer = value.isValid() ? graph.value(value).producer : NodeId();
    if (!producer.isValid() || !ops::areElements(graph.node(producer), {ops::Elements::Divided}) ||
        graph.node(producer).inputs.size() != 2) {
        return false;
    }
    const NodeId root = graph.value(graph.node(producer).inputs[1]).producer;
    return root.isValid() && graph.node(root).op == "Sqrt";
}

/// The slot of the scale of a normalisation; nothing for other nodes.
std::optional<std::size_t> scaleSlot(const graph::Graph& graph, const graph::Node& node)
{
    const auto* const at = std::ranges::find(kScaled, std::string_view(node.op), &ScaledBy::op);
    if (at != kScaled.end()) {
        return at->slot;
    }
    if (!ops::areElements(node, {ops::Elements::Multiplied}) || node.inputs.size() != 2) {
        return std::nullopt;
    }
    for (const std::size_t slot : {std::size_t{0}, std::size_t{1}}) {
        if (isNormalised(graph, node.inputs[1 - slot])) {
            return slot;
        }
    }
    return std::nullopt;
}

void findScaleOutliers(const Facts& facts, Probe& probe)
{
    const ModelFacts& model = *facts.model();
    for (const graph::Node& node : model.graph().nodes()) {
        const std::optional<std::size_t> slot = scaleSlot(model.graph(), node);
        std::vector<double> scales = slot ? numbersIn(model.constantOperand(node, *slot)) : std::vector<double>();
        std::ranges::transform(scales, scales.begin(), [](double scale) { return std::abs(scale); });
        const auto outlier = outlierOf(scales);
        if (!outlier) {
            continue;
        }
        probe.measured(node.name, outlier->statistic);
        if (!(outlier->statistic > kLargestScaleRatio)) {
            continue;
        }
        const auto channel = static_cast<std::int64_t>(outlier->at);
        Finding& finding = probe.warning(2, kScaleEffect, {PlaceKind::Node, node.name, facts.nodeOfPass(node.name)});
        finding.what = fmt::format("its scale multiplies channel {} of {} by {}, {} times the median", channel,
                                   scales.size(), numberText(scales[outlier->at]), numberText(outlier->ratio));
        finding.means = "This channel alone decides what is seen behind it.";
        finding.remedy = fmt::format("Look at element {} of {}: was it trained, or converted with another scale?",
                                     channel, model.constantName(node, *slot));
        finding.numbers = {{"ratio_to_median", outlier->ratio}, {"channel", static_cast<double>(channel)}};
        finding.threshold = kLargestScaleRatio;
        finding.action = {"go to weights", {{"node", node.name}, {"value", model.constantName(node, *slot)}}, {}};
        finding.evidence = {{node.name, {channel}}};
        finding.chart = logarithmicBarsOf("|scale| of each channel", scales, {outlier->at});
    }
}

} // namespace

const Check modelNormOutlier{
    "model.norm-outlier", "|scale| of a channel of a layer, group, instance or RMS normalisation beside the median",
    kLargestScaleRatio,   "up to 2 (exports with scales near 1)",
    Need::Model,          true,
    findScaleOutliers};

} // namespace retro::diagnosis
