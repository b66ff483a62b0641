// SPDX-License-Identifier: Apache-2.0
// What a person should know of a target and of how relevance starts there.
#include "core/engine/evaluate/channelaxis.h"
#include "core/engine/explain/explain.h"
#include "core/engine/results/runfacts.h"
#include "core/ops/elements.h"
#include "core/ops/scoretail.h"
#include "core/trace/targetplace.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <iterator>
#include <utility>

namespace retro::engine
{

namespace
{

/// "--target 'z:0,3'", or with [:i,j,…] where the element is not told by two numbers.
std::string targetOfScores(const execute::BoundModel& model, const ResolvedTarget& target, const ops::ScoreTail& tail)
{
    const base::ValueId operand = tail.scores;
    const tensor::Shape& shape = model.typeOf(operand).shape;
    const bool isElement = (tail.keepsOrder || tail.isTurned) && target.index.size() == 1 && target.index.front() >= 0;
    const bool isOne = isElement && shape.size() == 2;
    const std::vector<std::string> axes = trace::axisNames(model.graph(), operand, shape.size());
    tensor::Shape result = model.typeOf(target.value).shape;
    std::int64_t position = isElement ? target.index.front() : 0;
    if (tail.isTurned && result.size() == 3) {
        position = position % result[2] * result[1] + position / result[2];
        std::swap(result[1], result[2]);
    }
    if (isElement && shape == result && trace::isDense(axes, shape)) {
        return fmt::format("--target '{}:{}'", model.graph().value(operand).name,
                           trace::placeCode(axes, shape, position));
    }
    return fmt::format("--target '{}{}'", model.graph().value(operand).name,
                       isOne ? fmt::format(":0,{}", target.index.front()) : "[:i,j,…]");
}

/// A target among columns that were set beside each other (1 - p beside p), as a target in the columns that it is of;
/// itself where there is nothing of the kind.
ResolvedTarget inItsColumns(const execute::BoundModel& model, const ResolvedTarget& target)
{
    const graph::Graph& graph = model.graph();
    const base::NodeId node = graph.nodeOf(target.value);
    const bool isJoined = node.isValid() && !graph.isInput(node) &&
                          ops::areElements(graph.node(node), {ops::Elements::Joined}) &&
                          model.typeOf(target.value).shape.size() == 2;
    std::int64_t first = 0;
    for (const base::ValueId part : isJoined ? graph.node(node).inputs : std::vector<base::ValueId>()) {
        const tensor::Shape& shape = model.typeOf(part).shape;
        const std::int64_t end = first + shape[1];
        const bool isOfRows = shape[0] == model.typeOf(target.value).shape[0];
        if (isOfRows && std::ranges::all_of(target.index, [&](std::int64_t i) { return i >= first && i < end; })) {
            ResolvedTarget column = target;
            column.value = part;
            std::ranges::transform(column.index, column.index.begin(), [&](std::int64_t i) { return i - first; });
            return column;
        }
        first = end;
    }
    return target;
}

/// Why the relevance of a probability, its logarithm or another function of a score misleads; empty where it does not.
std::string whyMisleading(const ops::ScoreTail& tail, const ResolvedTarget& target)
{
    if (!tail.rises) {
        return "it falls where the score rises, so what speaks for the score gets negative relevance";
    }
    if (tail.isLogarithm && std::ranges::all_of(target.logit, [](double result) { return result <= 0; })) {
        return "it is 0 at most, and nearest to 0 where the model is surest, so what speaks for a class gets negative "
               "relevance";
    }
    if (tail.isMixed) {
        return fmt::format("{} goes up when the scores of other classes go down, and its relevance mixes both",
                           tail.isSoftmax() ? "a probability" : "a share");
    }
    for (std::size_t i = 0; i < target.index.size(); ++i) {
        if (target.index[i] < 0 || !tail.turnsSign(target.logit[i])) {
            continue;
        }
        const double result = target.logit[i];
        if (std::isnan(tail.atZero)) {
            return "each class has a factor or a constant of its own, so its sign is not that of its score";
        }
        if (tail.isProbability()) {
            return fmt::format("{:.3g} is below 0.5: the model says no, but the probability is above 0, so what speaks "
                               "against the class gets positive relevance",
                               result);
        }
        return fmt::format("a score of 0 makes it {:.3g}, and {:.3g} has another sign than its score, so what speaks "
                           "{} the class gets {} relevance",
                           tail.atZero, result, result > 0 ? "against" : "for", result > 0 ? "positive" : "negative");
    }
    return {};
}

/// Of a model whose inputs have time first, the first axis of the target may be time as well.
std::string timeFirstHint(const execute::BoundModel& model, const ResolvedTarget& target)
{
    const graph::Graph& graph = model.graph();
    const tensor::Shape& shape = model.typeOf(target.value).shape;
    const auto chosen = std::ranges::count_if(target.index, [](std::int64_t index) { return index != -2; });
    if (shape.size() < 2 || chosen < 2) {
        return {};
    }
    for (const base::ValueId input : graph.inputs()) {
        const tensor::Shape& its = model.typeOf(input).shape;
        const bool hasTimeFirst =
            its.size() > 1 && its[0] == shape[0] && inputAxesOf(graph, input, its.size()).samples == 1;
        if (hasTimeFirst) {
            return fmt::format(
                "axis 0 of \"{}\" ({}) counts as samples, so each of its {} entries has a target of its "
                "own; recurrent layers read axis 0 of \"{}\" as time. If it is time there, choose a step "
                "with --target '{}:sample={},class=…'",
                graph.value(target.value).name, tensor::toText(shape), shape[0], graph.value(input).name,
                graph.value(target.value).name, shape[0] - 1);
        }
    }
    return {};
}

/// A start that is above 0 where the score is below.
std::string startHint(const ResolvedTarget& target, const StartRequest& start, const ExplainResult& result)
{
    const bool isOfOne = start.kind == StartKind::One || start.kind == StartKind::Contrastive;
    if (!isOfOne || !start.against.empty() || carriesGradient(result)) {
        return {};
    }
    const auto below = std::ranges::find_if(target.logit, [](double score) { return score < 0; });
    if (below == target.logit.end()) {
        return {};
    }
    return fmt::format(
        "the score of \"{}\" is {:.4g}, below 0, and relevance starts with 1: these rules share it out in "
        "proportion to the parts of the score, so what raises the score gets negative relevance and what "
        "lowers it positive. Start with the score itself (--start logit) to see what speaks for it",
        result.model->graph().value(target.value).name, *below);
}

} // namespace

std::string targetHint(const execute::BoundModel& model, const ResolvedTarget& target)
{
    const ResolvedTarget column = inItsColumns(model, target);
    const ops::ScoreTail tail = ops::scoreTail(model.graph(), column.value);
    const std::string why = tail.isValid() ? whyMisleading(tail, column) : std::string();
    return why.empty() ? why
                       : fmt::format("\"{}\" is the result of {}: {}. Explain the scores before it with {}",
                                     model.graph().value(target.value).name, tail.words(), why,
                                     targetOfScores(model, column, tail));
}

std::vector<std::string> targetHints(const execute::BoundModel& model, const ResolvedTarget& target)
{
    std::vector<std::string> hints{targetHint(model, target), timeFirstHint(model, target)};
    std::erase_if(hints, [](const std::string& hint) { return hint.empty(); });
    return hints;
}

void addHints(const ResolvedTarget& target, const StartRequest& start, ExplainResult& result)
{
    std::ranges::move(targetHints(*result.model, target), std::back_inserter(result.warnings));
    if (std::string hint = startHint(target, start, result); !hint.empty()) {
        result.warnings.push_back(std::move(hint));
    }
}

} // namespace retro::engine
