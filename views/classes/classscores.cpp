// SPDX-License-Identifier: Apache-2.0
#include "views/classes/classscores.h"

#include "views/classes/classestranslation.h"
#include "views/common/run/segments.h"

#include <algorithm>
#include <cmath>
#include <numeric>

namespace retro::views
{

namespace
{

// Scores of sample 0 when the explained output is N × C.
std::vector<double> rowOf(const RunModel& model)
{
    const tensor::Tensor* output = model.forwardValue(model.run().facts.targetValue);
    const bool isRow = output != nullptr && output->rank() == 2 && output->shape()[0] > 0 && output->shape()[1] > 1;
    if (!isRow) {
        return {};
    }
    std::vector<double> row(static_cast<std::size_t>(output->shape()[1]));
    for (std::size_t i = 0; i < row.size(); ++i) {
        row[i] = output->at(static_cast<std::int64_t>(i));
    }
    return row;
}

/// Lengths of the bars: probabilities, else how large each output is beside the largest; what is below 0 has none.
std::vector<double> barsOf(const std::vector<double>& scores, const std::vector<double>& shares)
{
    if (!shares.empty()) {
        return shares;
    }
    double largest = 0;
    for (const double score : scores) {
        largest = std::max(largest, std::abs(score));
    }
    std::vector<double> bars(scores.size());
    if (largest > 0) {
        std::transform(scores.begin(), scores.end(), bars.begin(),
                       [&](double score) { return std::max(0.0, score / largest); });
    }
    return bars;
}

ClassAnswer segmentAnswer(const RunModel& model, const Segments& segments)
{
    ClassAnswer answer;
    answer.isSegments = true;
    answer.classes = segments.classes();
    const double all = static_cast<double>(segments.width()) * segments.height();
    for (const Segments::One& one : segments.found()) {
        const double share = static_cast<double>(one.places) / all;
        answer.best.push_back(
            {one.index, classLabel(model, one.index), share, one.score, share, segments.asked() == one.index});
    }
    answer.says = answer.best.empty() ? QString() : answer.best.front().name;
    return answer;
}

} // namespace

ClassAnswer classAnswer(const RunModel& model, std::size_t count)
{
    ClassAnswer answer;
    const std::vector<double> scores = rowOf(model);
    if (const auto segments = scores.empty() ? model.derived<Segments>() : nullptr; segments && !segments->isEmpty()) {
        return segmentAnswer(model, *segments);
    }
    if (scores.empty()) {
        return answer;
    }
    answer.classes = static_cast<std::int64_t>(scores.size());
    answer.kind =
        formats::scoreKindOf(model.graph(), model.run().facts.targetValue, model.input().scores.toStdString());
    answer.truth = model.input().trueClass;
    const std::vector<double> shares = formats::probabilitiesOf(scores, answer.kind);
    const std::vector<double> bars = barsOf(scores, shares);
    std::vector<std::size_t> order(scores.size());
    std::iota(order.begin(), order.end(), std::size_t{0});
    std::stable_sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) { return scores[a] > scores[b]; });
    answer.says = model.className(static_cast<std::int64_t>(order.front()));
    const std::vector<std::int64_t>& targets = model.run().facts.targetIndex;
    const std::int64_t target = targets.empty() ? -1 : targets.front();
    for (std::size_t rank = 0; rank < order.size(); ++rank) {
        const auto index = static_cast<std::int64_t>(order[rank]);
        if (rank < count || index == target) {
            const std::size_t at = order[rank];
            answer.best.push_back({index, model.className(index),
                                   shares.empty() ? std::nullopt : std::optional(shares[at]), scores[at], bars[at],
                                   index == target});
        }
    }
    return answer;
}

QString answerSentence(const ClassAnswer& answer)
{
    if (answer.best.empty()) {
        return {};
    }
    if (answer.isSegments) {
        return classesText("Most of the picture is %1. A click asks why a segment is one.").arg(answer.says);
    }
    if (answer.kind == formats::ScoreKind::Numbers) {
        return classesText("Of %1 outputs, %2 is the largest.").arg(answer.classes).arg(answer.says);
    }
    if (answer.truth.isEmpty()) {
        return classesText("The model says %1.").arg(answer.says);
    }
    return answer.truth == answer.says
               ? classesText("The model says %1, and it is.").arg(answer.says)
               : classesText("The model says %1. The truth is %2.").arg(answer.says, answer.truth);
}

} // namespace retro::views
