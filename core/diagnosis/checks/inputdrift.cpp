// SPDX-License-Identifier: Apache-2.0
#include "core/diagnosis/checks/checks.h"
#include "core/diagnosis/numbertext.h"
#include "core/diagnosis/watched.h"

#include <fmt/format.h>

namespace retro::diagnosis
{

namespace
{

/// Median over the channels of |mean read − stored mean|/deviation (section 4.2, input.drift: > 10), and e.
constexpr double kLargestDrift = 10;
constexpr double kDriftEffect = 0.7;
/// Median over the channels of the deviation read / the stored one; one input differs from another by little.
constexpr double kLargestSpread = 30;

NormalisedDistance driftAt(const Facts& facts, const graph::Node& node)
{
    Watched read;
    if (const Tensor x = facts.value(node.inputs[0]); x.isValid()) {
        read.add(x);
    }
    return distanceOf(read, node, facts.value(node.inputs[3]), facts.value(node.inputs[4]));
}

/// `before` names one whose statistics fit; empty where there is none.
void adviseOnDrift(const std::string& before, bool isSpread, Finding& finding)
{
    if (!before.empty()) {
        finding.means = fmt::format("What {} reads is as in the training, so it is not the input.", before);
        finding.remedy = fmt::format("Look at what is between {} and this node, and at its variance", before);
        return;
    }
    finding.means = "The model was trained on other numbers than this input has.";
    finding.remedy = isSpread ? "Look at the scale of the input, and at the variance of this node"
                              : "Look at scale, mean and deviation of the input";
}

/// Means that lie far from the stored ones.
void describeMeans(const NormalisedDistance& drift, Finding& finding)
{
    finding.what = fmt::format("reads means that lie {} deviations from those of the training (median of its "
                               "channels)",
                               numberText(drift.drift));
    finding.numbers = {{"drift_in_deviations", drift.drift}, {"deviation_of_stored", drift.spread}};
    finding.threshold = kLargestDrift;
    finding.chart =
        logarithmicBarsOf("Stored deviations between its means and the stored ones, by channel", drift.drifts, {});
}

/// Deviations far above the stored ones; the number that stands beside its limit comes first.
void describeSpread(const NormalisedDistance& drift, Finding& finding)
{
    finding.what = fmt::format("reads deviations that are {} times the stored ones (median of its channels)",
                               numberText(drift.spread));
    finding.numbers = {{"deviation_of_stored", drift.spread}, {"drift_in_deviations", drift.drift}};
    finding.threshold = kLargestSpread;
    finding.chart = logarithmicBarsOf("Deviation of what it reads over the stored one, by channel", drift.spreads, {});
}

void findDrift(const Facts& facts, Probe& probe)
{
    const graph::Graph& graph = facts.graph();
    std::string before;  // one whose statistics fit
    bool isSaid = false; // what is behind the first one drifts with it
    for (const graph::Node& node : graph.nodes()) {
        if (!isTrainedNormalisation(node)) {
            continue;
        }
        const NormalisedDistance drift = driftAt(facts, node);
        probe.measured(node.name, drift.drift);
        const bool isSpread = !(drift.drift > kLargestDrift);
        if (isSaid || (isSpread && !(drift.spread > kLargestSpread))) {
            before = node.name;
            continue;
        }
        isSaid = true;
        Finding& finding = probe.warning(2, kDriftEffect, facts.place(graph.nodeOf(node.outputs[0])));
        if (isSpread) {
            describeSpread(drift, finding);
        } else {
            describeMeans(drift, finding);
        }
        adviseOnDrift(before, isSpread, finding);
        finding.chart.limits = {finding.threshold};
        finding.action = {"apply the card", {{"node", node.name}}, {}};
    }
}

} // namespace

const Check inputDrift{
    "input.drift", "median over channels of |mean of what a BatchNormalization reads − stored mean|/deviation",
    kLargestDrift, "up to 0.94 (trained), 0.37 (random weights)",
    Need::Forward, true,
    findDrift};

} // namespace retro::diagnosis
