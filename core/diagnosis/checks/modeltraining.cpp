// SPDX-License-Identifier: Apache-2.0
#include "core/diagnosis/checks/checks.h"
#include "core/diagnosis/numbertext.h"
#include "core/graph/attributes.h"

#include <fmt/format.h>

namespace retro::diagnosis
{

namespace
{

/// e of model.training (section 4.1).
constexpr double kTrainingEffect = 0.9;
/// Of a Dropout whose file does not say it (ONNX).
constexpr double kUsualDropoutRatio = 0.5;

/// Share of elements that a Dropout in training mode drops; 0 of one that is not.
double droppedShare(const ModelFacts& model, const graph::Node& node)
{
    const Tensor isTraining = model.constantOperand(node, 2);
    if (!isTraining.isValid() || isTraining.size() == 0 || isTraining.at(0) == 0) {
        return 0;
    }
    const Tensor ratio = model.constantOperand(node, 1);
    return ratio.isValid() && ratio.size() > 0 ? ratio.at(0) : kUsualDropoutRatio;
}

void describeDropout(double dropped, Finding& finding)
{
    finding.what = fmt::format("is in training mode: it drops elements by chance (ratio {})", numberText(dropped));
    finding.means = "Each run gives another result.";
    finding.chart = barsOf("Share that is kept, and that is dropped by chance", {1 - dropped, dropped}, {1});
    finding.chart.names = {"kept", "dropped"};
    finding.remedy = "Export the model in evaluation mode";
    finding.numbers = {{"ratio", dropped}};
}

void describeNormalisation(const ModelFacts& model, const graph::Node& node, Finding& finding)
{
    finding.what = "is in training mode: it takes mean and variance from the batch, not the stored ones";
    finding.means = "The result for one input depends on what else is in the batch.";
    finding.remedy = "Export the model in evaluation mode (training_mode 0)";
    finding.chart = barsOf("Stored variances, which are not used", numbersIn(model.constantOperand(node, 4)), {});
    finding.numbers = {{"training_mode", 1}};
}

bool isStandard(const graph::Node& node, std::string_view op) { return node.domain.empty() && node.op == op; }

/// `dropped` is the share that a Dropout drops.
void noteTraining(const Facts& facts, Probe& probe, const graph::Node& node, double dropped)
{
    Finding& finding = probe.error(kTrainingEffect, {PlaceKind::Node, node.name, facts.nodeOfPass(node.name)});
    if (isStandard(node, "Dropout")) {
        describeDropout(dropped, finding);
    } else {
        describeNormalisation(*facts.model(), node, finding);
    }
    finding.action = {"go to node", {{"node", node.name}}, {}};
}

void findTraining(const Facts& facts, Probe& probe)
{
    const ModelFacts& model = *facts.model();
    for (const graph::Node& node : model.graph().nodes()) {
        const bool isDropout = isStandard(node, "Dropout");
        if (!isDropout && !isStandard(node, "BatchNormalization")) {
            continue;
        }
        const double dropped = isDropout ? droppedShare(model, node) : 0;
        const bool isTraining = isDropout ? dropped > 0 : graph::intAttribute(node, "training_mode", 0) != 0;
        probe.measured(node.name, isTraining ? 1 : 0);
        if (isTraining) {
            noteTraining(facts, probe, node, dropped);
        }
    }
}

} // namespace

const Check modelTraining{"model.training",
                          "BatchNormalization with training_mode 1, Dropout that drops by chance (1: there is one)",
                          0,
                          "0",
                          Need::Model,
                          true,
                          findTraining};

} // namespace retro::diagnosis
