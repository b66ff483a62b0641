// SPDX-License-Identifier: Apache-2.0
#include "core/diagnosis/checks/checks.h"
#include "core/diagnosis/numbertext.h"
#include "core/diagnosis/targetscores.h"

#include <fmt/format.h>

namespace retro::diagnosis
{

namespace
{

/// e of target.squashed (section 4.3): warning where the largest score is above this, or rules are a gradient.
constexpr double kSquashedEffect = 0.9;
constexpr double kMildEffect = 0.6;
constexpr double kFullySquashed = 0.999;
/// A Sigmoid of more values is a map of masks, not a row of classes (section 4.3).
constexpr std::int64_t kMostSigmoidValues = 64;

/// The last node before the target that is no shape map; invalid where the way is not one line.
NodeId lastStep(const Facts& facts)
{
    const graph::Graph& graph = facts.graph();
    ValueId value = facts.pass()->target;
    for (std::size_t i = 0; i < graph.nodeCount(); ++i) {
        const NodeId producer = value.isValid() ? graph.value(value).producer : NodeId();
        if (!producer.isValid()) {
            return {};
        }
        if (!facts.isKind(producer, ops::StructureKind::ShapeMap)) {
            return producer;
        }
        value = graph.node(producer).inputs.empty() ? ValueId() : graph.node(producer).inputs.front();
    }
    return {};
}

/// A softmax or a sigmoid before the target.
void noteSquashed(const Facts& facts, Probe& probe, NodeId node, bool isSoftmax)
{
    const graph::Graph& graph = facts.graph();
    const ValueId target = facts.pass()->target;
    const double largest = facts.statistics(target).largest;
    const bool isFlat = largest > kFullySquashed || facts.pass()->isGradient;
    const std::string& before = graph.value(graph.node(node).inputs.front()).name;
    Finding& finding =
        isFlat ? probe.warning(2, kSquashedEffect, facts.place(node)) : probe.note(kMildEffect, facts.place(node));
    finding.what = fmt::format("the target is the result of a {}; its largest score is {:.4g}",
                               isSoftmax ? "softmax" : "sigmoid", largest);
    finding.means = isSoftmax ? "A softmax mixes all classes and is flat near 1: gradients vanish, classes look alike."
                              : "A sigmoid is flat near 0 and 1: gradients vanish there.";
    finding.remedy = "Explain the value before it";
    finding.numbers = {{"largest_score", largest}};
    finding.threshold = kFullySquashed;
    const TargetScores scores = scoresOf(facts, facts.value(target));
    if (scores.chosen >= 0) {
        finding.chart = barsOf("Scores of the classes", scores.scores, {static_cast<std::size_t>(scores.chosen)});
    }
    const bool isRow = facts.shape(target).size() == 2 && scores.classAxis == 1 && scores.chosen >= 0;
    finding.action = {"choose target",
                      {{"target", before}, {"node", graph.labelOf(node)}},
                      "--target " + before + (isRow ? fmt::format(":{}", scores.chosen) : std::string())};
}

void findSquashed(const Facts& facts, Probe& probe)
{
    const graph::Graph& graph = facts.graph();
    const ValueId target = facts.pass()->target;
    const NodeId node = target.isValid() ? lastStep(facts) : NodeId();
    const bool isLogarithm = node.isValid() && graph.node(node).op == "LogSoftmax";
    const bool isSoftmax = node.isValid() && !isLogarithm && facts.isKind(node, ops::StructureKind::Softmax);
    const bool isSigmoid = node.isValid() && graph.node(node).op == "Sigmoid" &&
                           tensor::elementCount(facts.shape(target)) <= kMostSigmoidValues;
    probe.measured(target.isValid() ? graph.value(target).name : "", isSoftmax || isSigmoid ? 1 : 0);
    if (isSoftmax || isSigmoid) {
        noteSquashed(facts, probe, node, isSoftmax);
    }
}

} // namespace

const Check targetSquashed{"target.squashed",
                           "the target is the result of a Softmax or Sigmoid (1: it is)",
                           0,
                           "0 (trained), one note (random weights)",
                           Need::Forward,
                           true,
                           findSquashed};

} // namespace retro::diagnosis
