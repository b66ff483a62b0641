// SPDX-License-Identifier: Apache-2.0
#include "core/diagnosis/checks/checks.h"
#include "core/diagnosis/numbertext.h"
#include "core/ops/layerkind.h"

#include <fmt/format.h>

namespace retro::diagnosis
{

namespace
{

/// Section 9: every BatchNormalization of a model keeps mean 0 and variance 1, or all its biases are 0; e. Of one layer
/// alone that says little.
constexpr std::size_t kLeastLayers = 2;
constexpr double kUntrainedEffect = 0.1;
/// Up to this share of a model's BatchNormalizations without statistics: the others show that it was trained.
constexpr double kMostOfTrained = 0.5;
constexpr double kForgottenBase = 2.4;
constexpr double kForgottenEffect = 0.6;

bool isAll(const Tensor& constant, double number)
{
    if (!constant.isValid() || constant.size() == 0) {
        return false;
    }
    const Statistics all = statisticsOf(constant);
    return all.notFinite() == 0 && all.least == number && all.largest == number;
}

/// Layers of one kind, and how many of them are as they were made.
struct Untouched
{
    std::size_t layers = 0;
    std::size_t untouched = 0;
    std::string first;          ///< node
    std::string firstUntouched; ///< node

    void add(const std::string& node, bool isUntouched)
    {
        first = layers == 0 ? node : first;
        firstUntouched = isUntouched && untouched == 0 ? node : firstUntouched;
        ++layers;
        untouched += isUntouched ? 1 : 0;
    }
    [[nodiscard]] double share() const
    {
        return layers < kLeastLayers ? 0 : static_cast<double>(untouched) / static_cast<double>(layers);
    }
};

void reportUntrained(const Facts& facts, const Untouched& which, const std::string& what, Probe& probe)
{
    probe.measured(which.first, which.share());
    if (which.share() < 1) {
        return;
    }
    Finding& finding = probe.note(kUntrainedEffect, {PlaceKind::Node, which.first, facts.nodeOfPass(which.first)});
    finding.what = fmt::format("and {} more: {}: these weights look untrained", which.layers - 1, what);
    finding.means = "A model that was never trained can be anything.";
    finding.remedy = "Look whether the checkpoint was loaded";
    finding.numbers = {{"share_of_layers", which.share()}, {"layers", static_cast<double>(which.layers)}};
    finding.threshold = 1;
    finding.action = {"go to weights", {{"node", which.first}}, {}};
}

/// A trained model in which single normalisations have no statistics.
void reportForgotten(const Facts& facts, const Untouched& which, Probe& probe)
{
    if (which.untouched == 0 || which.layers < kLeastLayers || which.share() > kMostOfTrained) {
        return;
    }
    const std::string& name = which.firstUntouched;
    Finding& finding = probe.warning(kForgottenBase, kForgottenEffect, {PlaceKind::Node, name, facts.nodeOfPass(name)});
    finding.what =
        fmt::format("keeps the mean 0 and the variance 1 that it was made with{}; {} other BatchNormalization "
                    "{} statistics of the training",
                    which.untouched == 1 ? "" : fmt::format(", as {} more do", which.untouched - 1),
                    which.layers - which.untouched, which.layers - which.untouched == 1 ? "has" : "have");
    finding.means = "It does not normalise what it reads, so layers behind it get other numbers than in the training.";
    finding.remedy = "Look whether its running mean and variance were loaded from the checkpoint";
    finding.numbers = {{"share_of_layers", which.share()}, {"layers", static_cast<double>(which.layers)}};
    finding.threshold = 1;
    finding.action = {"go to weights", {{"node", name}}, {}};
}

void findUntrained(const Facts& facts, Probe& probe)
{
    constexpr std::size_t kMeanSlot = 3;
    constexpr std::size_t kVarianceSlot = 4;
    const ModelFacts& model = *facts.model();
    Untouched normalisations;
    Untouched biases;
    for (const graph::Node& node : model.graph().nodes()) {
        if (!node.domain.empty()) {
            continue;
        }
        if (ops::isBatchNormalisation(node)) {
            normalisations.add(node.name, isAll(model.constantOperand(node, kMeanSlot), 0) &&
                                              isAll(model.constantOperand(node, kVarianceSlot), 1));
        }
        const bool isLinear = ops::isConvolution(node) || node.op == "Gemm";
        const Tensor bias = isLinear ? model.constantOperand(node, 2) : Tensor();
        if (bias.isValid()) {
            biases.add(node.name, isAll(bias, 0));
        }
    }
    reportForgotten(facts, normalisations, probe);
    reportUntrained(facts, normalisations, "mean 0 and variance 1 in every BatchNormalization", probe);
    reportUntrained(facts, biases, "every bias is 0", probe);
}

} // namespace

const Check modelUntrained{"model.untrained",
                           "share of BatchNormalization with mean 0 and variance 1, or of biases that are all 0",
                           1,
                           "below 1",
                           Need::Model,
                           true,
                           findUntrained};

} // namespace retro::diagnosis
