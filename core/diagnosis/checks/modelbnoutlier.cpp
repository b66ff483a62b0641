// SPDX-License-Identifier: Apache-2.0
#include "core/diagnosis/checks/checks.h"
#include "core/diagnosis/numbertext.h"
#include "core/diagnosis/outlier.h"
#include "core/graph/attributes.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <numeric>

namespace retro::diagnosis
{

namespace
{

/// |scale|/√(variance + ε) of a channel beside the median (section 4.1, model.bn-outlier: > 50), and e.
constexpr double kLargestFactorRatio = 50;
constexpr double kOutlierEffect = 0.8;
constexpr double kUsualBatchEpsilon = 1e-5; // of ONNX

/// The norm of the weights that make each channel, where a Conv with constant weights does. A channel that died in
/// training has a variance near 0 because its weights are: its factor multiplies nothing.
std::vector<double> weightsBefore(const ModelFacts& model, const graph::Node& node, std::size_t channels)
{
    std::vector<double> norms(channels, 1);
    const NodeId producer = model.graph().value(node.inputs.front()).producer;
    if (!producer.isValid() || model.graph().node(producer).op != "Conv") {
        return norms;
    }
    const std::vector<double> weights = numbersIn(model.weightOperand(model.graph().node(producer), 1));
    const std::size_t row = weights.size() / channels;
    if (row * channels == weights.size() && row > 0) {
        for (std::size_t i = 0; i < channels; ++i) {
            const auto first = weights.begin() + static_cast<std::ptrdiff_t>(i * row);
            norms[i] = std::sqrt(std::inner_product(first, first + static_cast<std::ptrdiff_t>(row), first, 0.0));
        }
    }
    return norms;
}

/// What each channel is multiplied by; empty where the constants are not there.
std::vector<double> factorsOf(const ModelFacts& model, const graph::Node& node)
{
    const std::vector<double> scale = numbersIn(model.constantOperand(node, 1));
    const std::vector<double> variance = numbersIn(model.constantOperand(node, 4));
    if (scale.size() != variance.size()) {
        return {};
    }
    const double epsilon = graph::floatAttribute(node, "epsilon", kUsualBatchEpsilon);
    std::vector<double> factors;
    for (std::size_t i = 0; i < scale.size(); ++i) {
        factors.push_back(std::abs(scale[i]) / std::sqrt(variance[i] + epsilon));
    }
    return factors;
}

void findFactorOutliers(const Facts& facts, Probe& probe)
{
    const ModelFacts& model = *facts.model();
    for (const graph::Node& node : model.graph().nodes()) {
        if (node.op != "BatchNormalization" || !node.domain.empty()) {
            continue;
        }
        const std::vector<double> factors = factorsOf(model, node);
        std::vector<double> reach = weightsBefore(model, node, factors.size());
        std::ranges::transform(reach, factors, reach.begin(), std::multiplies());
        const auto outlier = outlierOf(reach);
        if (!outlier) {
            continue;
        }
        probe.measured(node.name, outlier->statistic);
        if (!(outlier->statistic > kLargestFactorRatio)) {
            continue;
        }
        const double ratio = outlier->ratio;
        const auto channel = static_cast<std::int64_t>(outlier->at);
        const double scale = model.constantOperand(node, 1).at(channel);
        const double variance = model.constantOperand(node, 4).at(channel);
        Finding& finding = probe.warning(2, kOutlierEffect, {PlaceKind::Node, node.name, facts.nodeOfPass(node.name)});
        finding.what = fmt::format("multiplies channel {} of {} by {}, {} times the median (scale {}, variance {})",
                                   channel, factors.size(), numberText(factors[outlier->at]), numberText(ratio),
                                   numberText(scale), numberText(variance));
        finding.means = "A variance near 0 lets one channel decide what is seen behind it.";
        finding.remedy = fmt::format("Look at channel {} of its scale and variance", channel);
        finding.numbers = {{"ratio_to_median", ratio}, {"channel", static_cast<double>(channel)}};
        finding.threshold = kLargestFactorRatio;
        finding.action = {"go to weights", {{"node", node.name}, {"value", model.constantName(node, 4)}}, {}};
        finding.evidence = {{node.name, {channel}}};
        finding.chart = logarithmicBarsOf("What each channel is multiplied by", factors, {outlier->at});
    }
}

} // namespace

const Check modelBnOutlier{
    "model.bn-outlier",  "|scale|/√(variance + ε) of a channel, with the weights before it, beside the median",
    kLargestFactorRatio, "up to 18 (trained), 2.7 (random weights)",
    Need::Model,         true,
    findFactorOutliers};

} // namespace retro::diagnosis
