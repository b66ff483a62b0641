// SPDX-License-Identifier: Apache-2.0
#include "core/diagnosis/checks/checks.h"
#include "core/diagnosis/linearweight.h"
#include "core/diagnosis/numbertext.h"
#include "core/diagnosis/outlier.h"
#include "core/graph/attributes.h"
#include "core/ops/layerkind.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <optional>

namespace retro::diagnosis
{

namespace
{

/// |scale|/√(variance + ε) of a channel beside the median (section 4.1, model.bn-outlier: > 50), and e.
constexpr double kLargestFactorRatio = 50;
constexpr double kOutlierEffect = 0.8;
constexpr double kUsualBatchEpsilon = 1e-5; // of ONNX

/// The factors times the norm of the weights that make each channel, where a layer with constant weights does. A
/// channel that died in training has a variance near 0 because its weights are: its factor multiplies nothing.
std::vector<double> withWeightsBefore(const ModelFacts& model, const graph::Node& node, std::vector<double> factors)
{
    const NodeId producer = model.graph().value(node.inputs.front()).producer;
    const auto linear = producer.isValid() ? linearWeightOf(model, model.graph().node(producer)) : std::nullopt;
    const std::vector<double> norms = linear ? linear->outputNorms(model) : std::vector<double>();
    if (norms.size() == factors.size()) {
        std::ranges::transform(factors, norms, factors.begin(), std::multiplies());
    }
    return factors;
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
        if (!ops::isBatchNormalisation(node)) {
            continue;
        }
        const std::vector<double> factors = factorsOf(model, node);
        auto outlier = outlierOf(factors);
        if (outlier && outlier->statistic > kLargestFactorRatio) { // weights are read where they decide
            outlier = outlierOf(withWeightsBefore(model, node, factors));
        }
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
