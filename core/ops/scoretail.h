// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/graph/graph.h"

#include <optional>
#include <string>
#include <vector>

namespace retro::ops
{

/// The last steps between the scores of a model and a result of it, where each of them only rises, or only falls, with
/// the score: Softmax, Sigmoid, Log, Exp, HardSigmoid, Softplus, a power, a factor, a constant that is added, a share
/// of the sum of all scores, a difference from the largest, and nodes that hand elements on, also within bounds. Such a
/// result ranks as the scores do, but its sign and its size do not say what speaks for a class: the logarithm of a
/// probability is 0 at most, and nearest to 0 where the model is surest.
struct ScoreTail
{
    base::ValueId scores;               ///< what the first of these steps reads; invalid: there is no such step
    std::vector<std::string> functions; ///< "Log", "Softmax": from the result to the scores
    bool isMixed = false;               ///< a softmax or a share is among them: each result is of all scores of a row
    bool isLogarithm = false;           ///< the result is the logarithm of a probability
    bool isScaled = false;              ///< a factor or a constant stands behind the functions
    bool keepsOrder = true;             ///< the elements of both are the same, in the same order
    bool isTurned = false;              ///< they are, but for the two last of three axes, which change places
    bool ranksSame = true;              ///< no class has a factor or a constant of its own
    bool rises = true;                  ///< with the score; else it falls
    double atZero = 0;                  ///< the result of a score of 0; not of a softmax; NaN: each class has its own

    [[nodiscard]] bool isValid() const { return scores.isValid(); }
    [[nodiscard]] bool isSoftmax() const;
    /// Whether the softmax of the scores has a meaning: there is one, or a row is told by its differences.
    [[nodiscard]] bool isOfLogits() const;
    /// True for the probabilities of a softmax or sigmoid as they are.
    [[nodiscard]] bool isProbability() const;
    /// "a softmax", "the logarithm of a sigmoid", "HardSigmoid".
    [[nodiscard]] std::string words() const;
    /// Whether a result has another sign than the score that it is of; false for a softmax, which has no such score.
    [[nodiscard]] bool turnsSign(double result) const;
};

/// The tail that ends in `value`. One that is not valid where a value is no such result, or is a constant.
[[nodiscard]] ScoreTail scoreTail(const graph::Graph& graph, base::ValueId value);

/// The output of a graph that such a tail makes of `scores`; none when there is no such output.
[[nodiscard]] std::optional<base::ValueId> outputOfScores(const graph::Graph& graph, base::ValueId scores);

} // namespace retro::ops
