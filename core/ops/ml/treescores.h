// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/ops/ml/treenodes.h"

namespace retro::ops
{

/// How the leaves of several trees become one score.
enum class TreeAggregate : std::uint8_t { Average, Sum, Least, Most };

/// Scores of one sample, and which of them a leaf or a base value gave.
struct SampleScores
{
    std::vector<double> values;
    std::vector<bool> isGiven;
};

/// Trees whose leaves add up to scores.
struct TreeScores
{
    Trees trees;
    std::size_t targets = 1;
    TreeAggregate aggregate = TreeAggregate::Sum;
    std::vector<double> base; ///< empty, or one per score, or one for score 0
    bool baseIsScore = false; ///< it counts, too, where no leaf gives a score (classifiers, as onnxruntime has it)

    /// Scores of row `sample` of x (samples × features, float32 or float64, row-major).
    [[nodiscard]] SampleScores ofSample(const Tensor& x, std::int64_t sample) const;

private:
    void add(const TreeNode& leaf, SampleScores& scores) const;
};

/// Trees of a TreeEnsemble, whose leaves are a list of their own. Errors (Input) as those of treesOf(), and a test for
/// membership, which is not supported.
[[nodiscard]] base::Result<Trees> joinedTrees(const BindContext& context, std::int64_t features, std::int64_t targets);

} // namespace retro::ops
