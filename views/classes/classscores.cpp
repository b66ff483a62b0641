// SPDX-License-Identifier: Apache-2.0
#include "views/classes/classscores.h"

#include <QCoreApplication>

#include <algorithm>
#include <cmath>
#include <numeric>

namespace retro::views
{

namespace
{

QString translated(const char* text) { return QCoreApplication::translate("retro::views::ClassesView", text); }

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

bool isSoftmax(const RunModel& model)
{
    const base::NodeId node = model.graph().nodeOf(model.run().facts.targetValue);
    return node.isValid() && model.graph().opOf(node) == "Softmax";
}

} // namespace

std::vector<double> probabilitiesOf(std::span<const double> scores)
{
    std::vector<double> shares(scores.begin(), scores.end());
    if (shares.empty()) {
        return shares;
    }
    const double largest = *std::max_element(shares.begin(), shares.end());
    double sum = 0;
    for (double& share : shares) {
        share = std::exp(share - largest);
        sum += share;
    }
    for (double& share : shares) {
        share /= sum;
    }
    return shares;
}

ClassAnswer classAnswer(const RunModel& model, std::size_t count)
{
    ClassAnswer answer;
    const std::vector<double> scores = rowOf(model);
    if (scores.empty()) {
        return answer;
    }
    answer.classes = static_cast<std::int64_t>(scores.size());
    answer.hasScores = !isSoftmax(model);
    answer.truth = model.input().trueClass;
    const std::vector<double> shares = answer.hasScores ? probabilitiesOf(scores) : scores;
    std::vector<std::size_t> order(scores.size());
    std::iota(order.begin(), order.end(), std::size_t{0});
    std::stable_sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) { return scores[a] > scores[b]; });
    answer.says = model.className(static_cast<std::int64_t>(order.front()));
    const std::vector<std::int64_t>& targets = model.run().facts.targetIndex;
    const std::int64_t target = targets.empty() ? -1 : targets.front();
    for (std::size_t rank = 0; rank < order.size(); ++rank) {
        const auto index = static_cast<std::int64_t>(order[rank]);
        if (rank < count || index == target) {
            answer.best.push_back(
                {index, model.className(index), shares[order[rank]], scores[order[rank]], index == target});
        }
    }
    return answer;
}

QString answerSentence(const ClassAnswer& answer)
{
    if (answer.best.empty()) {
        return {};
    }
    if (answer.truth.isEmpty()) {
        return translated("The model says %1.").arg(answer.says);
    }
    return answer.truth == answer.says ? translated("The model says %1, and it is.").arg(answer.says)
                                       : translated("The model says %1. The truth is %2.").arg(answer.says, answer.truth);
}

} // namespace retro::views
