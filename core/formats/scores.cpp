// SPDX-License-Identifier: Apache-2.0
#include "core/formats/scores.h"

#include <algorithm>
#include <cmath>

namespace retro::formats
{

ScoreKind scoreKindOf(const graph::Graph& graph, base::ValueId output, std::string_view said)
{
    if (!said.empty()) {
        return said == "numbers"         ? ScoreKind::Numbers
               : said == "probabilities" ? ScoreKind::Probabilities
                                         : ScoreKind::Logits;
    }
    const base::NodeId node = graph.nodeOf(output);
    const std::string_view op = node.isValid() ? std::string_view(graph.opOf(node)) : std::string_view();
    return op == "Softmax" || op == "Sigmoid" ? ScoreKind::Probabilities : ScoreKind::Logits;
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
