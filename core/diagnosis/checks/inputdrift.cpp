// SPDX-License-Identifier: Apache-2.0
#include "core/diagnosis/checks/checks.h"
#include "core/diagnosis/numbertext.h"

#include <fmt/format.h>

#include <cmath>

namespace retro::diagnosis
{

namespace
{

/// Median over the channels of |mean read − stored mean|/deviation (section 4.2, input.drift: > 10), and e.
constexpr double kLargestDrift = 10;
constexpr double kDriftEffect = 0.7;

double driftAt(const Facts& facts, const graph::Node& node)
{
    const std::vector<double> read = meansAlong(facts.value(node.inputs[0]), 1);
    const std::vector<double> mean = numbersIn(facts.value(node.inputs[3]));
    const std::vector<double> variance = numbersIn(facts.value(node.inputs[4]));
    if (read.size() != mean.size() || mean.size() != variance.size()) {
        return 0;
    }
    const double epsilon = numberAttribute(node, "epsilon", 1e-5); // of ONNX
    std::vector<double> drifts;
    for (std::size_t i = 0; i < read.size(); ++i) {
        drifts.push_back(std::abs(read[i] - mean[i]) / std::sqrt(variance[i] + epsilon));
    }
    return median(drifts);
}

void findDrift(const Facts& facts, Probe& probe)
{
    const graph::Graph& graph = facts.graph();
    bool isSaid = false; // what is behind the first one drifts with it
    for (const graph::Node& node : graph.nodes()) {
        const bool isSite = node.op == "BatchNormalization" && node.domain.empty() && node.inputs.size() >= 5 &&
                            wholeAttribute(node, "training_mode", 0) == 0;
        if (!isSite) {
            continue;
        }
        const double drift = driftAt(facts, node);
        probe.measured(node.name, drift);
        if (isSaid || !(drift > kLargestDrift)) {
            continue;
        }
        isSaid = true;
        Finding& finding = probe.warning(2, kDriftEffect, facts.place(graph.nodeOf(node.outputs[0])));
        finding.what = fmt::format("reads means that lie {} deviations from those of the training (median of its "
                                   "channels)",
                                   numberText(drift));
        finding.means = "The model was trained on other numbers than this input has.";
        finding.remedy = "Look at scale, mean and deviation of the input";
        finding.numbers = {{"drift_in_deviations", drift}};
        finding.threshold = kLargestDrift;
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
