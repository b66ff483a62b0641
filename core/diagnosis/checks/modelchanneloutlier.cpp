// SPDX-License-Identifier: Apache-2.0
#include "core/diagnosis/checks/checks.h"
#include "core/diagnosis/linearweight.h"
#include "core/diagnosis/numbertext.h"
#include "core/diagnosis/outlier.h"

#include <fmt/format.h>

#include <cmath>

namespace retro::diagnosis
{

namespace
{

/// Largest norm of an output channel beside the median (section 4.1, model.channel-outlier: > 50).
constexpr double kLargestChannelRatio = 50;

/// e = .8 + .05·log10(x/50) (section 4.1).
double channelEffect(double ratio) { return 0.8 + 0.05 * std::log10(ratio / kLargestChannelRatio); }

void findChannelOutliers(const Facts& facts, Probe& probe)
{
    const ModelFacts& model = *facts.model();
    for (const graph::Node& node : model.graph().nodes()) {
        const auto linear = linearWeightOf(model, node);
        if (!linear || facts.stop().stop_requested()) {
            continue;
        }
        const std::vector<double> norms = linear->outputNorms(model);
        const auto outlier = outlierOf(norms);
        if (!outlier) {
            continue;
        }
        probe.measured(node.name, outlier->statistic);
        if (!(outlier->statistic > kLargestChannelRatio)) {
            continue;
        }
        const double ratio = outlier->ratio;
        const auto channel = static_cast<std::int64_t>(outlier->at);
        Finding& finding =
            probe.warning(2, channelEffect(ratio), {PlaceKind::Node, node.name, facts.nodeOfPass(node.name)});
        finding.what = fmt::format("the weights of output channel {} of {} are {} times as large as the median channel",
                                   channel, norms.size(), numberText(ratio));
        finding.means = "This channel alone decides what is seen behind it.";
        finding.remedy = fmt::format("Look at channel {} of {}: was it converted with another scale?", channel,
                                     model.weightName(node, linear->slot));
        finding.numbers = {{"ratio_to_median", ratio}, {"channel", static_cast<double>(channel)}};
        finding.threshold = kLargestChannelRatio;
        finding.action = {"go to weights", {{"node", node.name}, {"value", model.weightName(node, linear->slot)}}, {}};
        finding.evidence = {{node.name, {channel}}};
        finding.chart = logarithmicBarsOf("‖weights‖ of each output channel", norms, {outlier->at});
    }
}

} // namespace

const Check modelChannelOutlier{"model.channel-outlier",
                                "norm of an output channel beside the median of its node (three channels and more)",
                                kLargestChannelRatio,
                                "up to 8.2 (trained), 6.0 (random weights)",
                                Need::Model,
                                true,
                                findChannelOutliers};

} // namespace retro::diagnosis
