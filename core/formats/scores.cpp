// SPDX-License-Identifier: Apache-2.0
#include "core/formats/scores.h"

#include "core/ops/scoretail.h"

#include <algorithm>
#include <cmath>

namespace retro::formats
{

ScoreKind scoreKindOf(const graph::Graph& graph, base::ValueId value, std::string_view said)
{
    const std::optional<base::ValueId> output = ops::outputOfScores(graph, value);
    if (!said.empty() && !output) {
        return said == "numbers"         ? ScoreKind::Numbers
               : said == "probabilities" ? ScoreKind::Probabilities
                                         : ScoreKind::Logits;
    }
    const ops::ScoreTail tail = ops::scoreTail(graph, output.value_or(value));
    if (tail.isProbability() && !output) {
        return ScoreKind::Probabilities;
    }
    // The softmax of logarithms of probabilities is the probabilities again.
    const bool isRow = !tail.isValid() || (tail.isOfLogits() && (output || (tail.isLogarithm && !tail.isScaled)));
    return isRow ? ScoreKind::Logits : ScoreKind::Numbers;
}

std::vector<double> probabilitiesOf(std::span<const double> scores, ScoreKind kind)
{
    std::vector<double> shares(scores.begin(), scores.end());
    if (kind == ScoreKind::Numbers) {
        return {};
    }
    if (kind == ScoreKind::Probabilities || shares.empty()) {
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

} // namespace retro::formats
