// SPDX-License-Identifier: Apache-2.0
#include "core/diagnosis/checks/checks.h"
#include "core/diagnosis/numbertext.h"
#include "core/diagnosis/targetscores.h"
#include "core/ops/scoretail.h"

#include <fmt/format.h>

namespace retro::diagnosis
{

namespace
{

/// e of target.squashed (section 4.3): warning where the largest score is above this, or rules are a gradient.
constexpr double kSquashedEffect = 0.9;
constexpr double kMildEffect = 0.6;
constexpr double kFullySquashed = 0.999;
/// A function of more scores, each by itself, is a map of masks and not a row of classes (section 4.3).
constexpr std::int64_t kMostSigmoidValues = 64;

/// What makes scores hard to explain by their results.
std::string meaningOf(const ops::ScoreTail& tail)
{
    if (tail.isLogarithm || !tail.rises) {
        return tail.isLogarithm ? "It is 0 at most, and nearest to 0 where the model is "
                                  "surest: what speaks for a class gets negative relevance."
                                : "It falls where the score rises: what speaks for the score gets negative relevance.";
    }
    return tail.isSoftmax() ? "A softmax mixes all classes and is flat near 1: gradients vanish, classes look alike."
           : tail.isMixed   ? "All scores of a row are in it: it rises, too, where the others fall."
           : tail.isProbability() ? "A sigmoid is flat near 0 and 1: gradients vanish there."
                                  : "Its sign and size are not those of the score.";
}

/// Why it is not the target that is explained, but the scores before it.
void noteBefore(const Facts& facts, Probe& probe, ValueId output)
{
    const graph::Graph& graph = facts.graph();
    const ops::ScoreTail tail = ops::scoreTail(graph, output);
    Finding& finding = probe.note(kMildEffect, facts.place(graph.value(output).producer));
    finding.what = fmt::format("is the result of {}; the scores before it, \"{}\", are explained in its place",
                               tail.words(), graph.value(tail.scores).name);
    finding.means = meaningOf(tail);
    finding.remedy = "To explain the output itself, name it with one element";
    finding.action = {"choose target",
                      {{"target", graph.value(output).name}, {"node", graph.labelOf(graph.value(output).producer)}},
                      "--target " + graph.value(output).name + ":0,…"};
}

/// A result of scores as the target.
void noteSquashed(const Facts& facts, Probe& probe, const ops::ScoreTail& tail)
{
    const graph::Graph& graph = facts.graph();
    const ValueId target = facts.pass()->target;
    const NodeId node = graph.value(target).producer;
    const double largest = facts.statistics(target).largest;
    const bool isFlat = tail.isLogarithm || !tail.rises || largest > kFullySquashed || facts.pass()->isGradient;
    const std::string& before = graph.value(tail.scores).name;
    Finding& finding =
        isFlat ? probe.warning(2, kSquashedEffect, facts.place(node)) : probe.note(kMildEffect, facts.place(node));
    finding.what = fmt::format("the target is the result of {}; its largest score is {:.4g}", tail.words(), largest);
    finding.means = meaningOf(tail);
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
    const ops::ScoreTail tail = target.isValid() ? ops::scoreTail(graph, target) : ops::ScoreTail();
    const bool isRow =
        tail.isMixed || (target.isValid() && tensor::elementCount(facts.shape(target)) <= kMostSigmoidValues);
    const bool isSquashed = tail.isValid() && isRow;
    const auto output = facts.sources().startsAtScores ? ops::outputOfScores(graph, target) : std::optional<ValueId>();
    probe.measured(target.isValid() ? graph.value(target).name : "", isSquashed || output ? 1 : 0);
    if (isSquashed) {
        noteSquashed(facts, probe, tail);
    } else if (output) {
        noteBefore(facts, probe, *output);
    }
}

} // namespace

const Check targetSquashed{"target.squashed",
                           "the output is a Softmax, Sigmoid, Log or the like of scores (1: it is)",
                           0,
                           "0 (trained), one note (random weights)",
                           Need::Forward,
                           true,
                           findSquashed};

} // namespace retro::diagnosis
