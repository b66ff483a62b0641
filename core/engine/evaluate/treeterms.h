// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/base/result.h"
#include "core/execute/boundmodel.h"

#include <cstdint>
#include <string>
#include <vector>

namespace retro::engine
{

/// One score of decision trees in a sum of such scores.
struct TreeTerm
{
    base::NodeId node; ///< whose operator is an ops::TreeModel
    std::size_t score = 0;
    double factor = 1;
};

/// An element of a value as a sum of scores of trees and a constant.
struct TreeSum
{
    std::vector<TreeTerm> terms;
    double offset = 0;  ///< the constant
    std::string behind; ///< what stands between the sum and the element, in words: "LOGISTIC"; empty = nothing
};

/// Follows an element of a value back to the trees that it is made of: through sums, products with constants, what only
/// moves elements, and functions that only go up (Sigmoid, Softmax, the transform of the trees) while there is one
/// score, which are left away with what is behind them: the sum is what comes before. Errors (Usage): anything else on
/// the way; trees whose score is no sum.
[[nodiscard]] base::Result<TreeSum> treeSumOf(const execute::BoundModel& model, base::ValueId value,
                                              std::int64_t element);

/// The input that a value has its elements from, one by one and in order: scaled, shifted, filled where they are
/// missing, reshaped. Errors (Usage): the first node on the way that mixes them.
[[nodiscard]] base::Result<base::ValueId> inputInOrder(const execute::BoundModel& model, base::ValueId value);

} // namespace retro::engine
