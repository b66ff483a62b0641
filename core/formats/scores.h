// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/graph/graph.h"

#include <span>
#include <string_view>
#include <vector>

namespace retro::formats
{

/// What the numbers of an output row mean.
enum class ScoreKind {
    Logits,        ///< scores of classes; their softmax is how sure the model is
    Probabilities, ///< how sure the model is, as they stand
    Numbers,       ///< no scores of classes: sums, measures, distances
};

/// What the elements of `value` mean: what the card's field `scores` says of outputs ("logits", "probabilities",
/// "numbers"), else Probabilities behind Softmax or Sigmoid; Numbers behind another function of single scores, and of
/// such scores themselves; else Logits.
[[nodiscard]] ScoreKind scoreKindOf(const graph::Graph& graph, base::ValueId value, std::string_view said);

/// How sure the model is of each class: the softmax of Logits, stable for large ones; Probabilities as they are;
/// nothing for Numbers.
[[nodiscard]] std::vector<double> probabilitiesOf(std::span<const double> scores, ScoreKind kind);

} // namespace retro::formats
