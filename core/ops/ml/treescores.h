// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/ops/ml/treenodes.h"

#include <string>
#include <vector>

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
    /// Why score `k` is no constant and a sum of the trees' leaves; empty when it is.
    [[nodiscard]] std::string whyNoSum(std::size_t k) const;

private:
    void add(const TreeNode& leaf, SampleScores& scores) const;
};

/// A score before the transform at the end: `factor` · score `score` of the trees, and a constant.
struct RawScore
{
    std::size_t score = 0;
    double factor = 1;
};

/// Marks operators whose scores are made of the leaves of decision trees.
class TreeModel
{
public:
    virtual ~TreeModel() = default;
    [[nodiscard]] virtual const TreeScores& treeScores() const = 0;
    /// Of a column of the operator's scores.
    [[nodiscard]] virtual RawScore rawScore(std::size_t column) const = 0;
    /// What is done to the scores at the end, as ONNX-ML names it; empty = nothing.
    [[nodiscard]] virtual std::string transformName() const = 0;
};

} // namespace retro::ops
