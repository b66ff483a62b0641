// SPDX-License-Identifier: Apache-2.0
#include "core/diagnosis/checks/checks.h"
#include "core/diagnosis/linearweight.h"
#include "core/diagnosis/numbertext.h"
#include "core/diagnosis/outlier.h"
#include "core/graph/attributes.h"
#include "core/ops/layerkind.h"

#include <fmt/format.h>

#include <cmath>
#include <string>
#include <vector>

namespace retro::diagnosis
{

namespace
{

/// Largest norm of an output channel beside the median (section 4.1, model.channel-outlier: > 50).
constexpr double kLargestChannelRatio = 50;

/// e = .8 + .05·log10(x/50) (section 4.1).
double channelEffect(double ratio) { return 0.8 + 0.05 * std::log10(ratio / kLargestChannelRatio); }

/// Norms of what stands beside each other in one constant of a node, and what such a part is called.
struct Parts
{
    std::size_t slot = 1; ///< operand that it is
    std::string noun;     ///< "output channel"
    std::string many;     ///< what it is compared with: "channel"
    std::vector<double> norms;
};

/// Output channels of a linear node; rows of a table of words; units of the gates of a recurrent cell, of what it reads
/// and of its own state.
std::vector<Parts> partsOf(const ModelFacts& model, const graph::Node& node)
{
    if (const auto linear = linearWeightOf(model, node)) {
        return {{linear->slot, "output channel", "channel", linear->outputNorms(model)}};
    }
    std::vector<Parts> parts;
    const auto add = [&](std::size_t slot, std::size_t rank, std::size_t axis, const std::string& noun) {
        const Tensor weight = slot < node.inputs.size() ? model.constantOperand(node, slot) : Tensor();
        if (weight.isValid() && weight.rank() == rank && tensor::isFloating(weight.dtype())) {
            parts.push_back({slot, noun, noun, model.norms(weight, axis)});
        }
    };
    const bool isLookup = node.op == "Gather" && (node.domain.empty() || node.domain == "retrograde");
    if (isLookup && graph::intAttribute(node, "axis", 0) == 0) {
        add(0, 2, 0, "row");
    } else if (ops::isRecurrent(node)) {
        constexpr std::size_t kRankOfGates = 3; // directions × gates · units × what is read
        add(1, kRankOfGates, 1, "unit");
        add(2, kRankOfGates, 1, "unit");
    }
    return parts;
}

void findChannelOutliers(const Facts& facts, Probe& probe)
{
    const ModelFacts& model = *facts.model();
    for (const graph::Node& node : model.graph().nodes()) {
        if (facts.stop().stop_requested()) {
            return;
        }
        for (const Parts& parts : partsOf(model, node)) {
            const auto outlier = outlierOf(parts.norms);
            if (!outlier) {
                continue;
            }
            probe.measured(node.name, outlier->statistic);
            if (!(outlier->statistic > kLargestChannelRatio)) {
                continue;
            }
            const double ratio = outlier->ratio;
            const auto channel = static_cast<std::int64_t>(outlier->at);
            const std::string name = model.weightName(node, parts.slot);
            Finding& finding =
                probe.warning(2, channelEffect(ratio), {PlaceKind::Node, node.name, facts.nodeOfPass(node.name)});
            finding.what = fmt::format("the weights of {} {} of {} are {} times as large as the median {}", parts.noun,
                                       channel, parts.norms.size(), numberText(ratio), parts.many);
            finding.means = fmt::format("This {} alone decides what is seen behind it.", parts.many);
            finding.remedy =
                fmt::format("Look at {} {} of {}: was it converted with another scale?", parts.many, channel, name);
            finding.numbers = {{"ratio_to_median", ratio}, {"channel", static_cast<double>(channel)}};
            finding.threshold = kLargestChannelRatio;
            finding.action = {"go to weights", {{"node", node.name}, {"value", name}}, {}};
            finding.evidence = {{node.name, {channel}}};
            finding.chart =
                logarithmicBarsOf(fmt::format("‖weights‖ of each {}", parts.noun), parts.norms, {outlier->at});
        }
    }
}

} // namespace

const Check modelChannelOutlier{
    "model.channel-outlier",
    "norm of an output channel, a row of a table, a unit of a gate, beside the median of three and more",
    kLargestChannelRatio,
    "up to 8.2 (trained), 6.0 (random weights)",
    Need::Model | Need::Weights,
    true,
    findChannelOutliers};

} // namespace retro::diagnosis
