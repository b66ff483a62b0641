// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/base/result.h"
#include "core/ops/boundoperator.h"

#include <cstdint>
#include <span>
#include <string>
#include <utility>
#include <vector>

namespace retro::ops
{

/// How a node of a tree compares a feature with its value.
enum class TreeTest : std::uint8_t { LessOrEqual, Less, GreaterOrEqual, Greater, Equal, NotEqual, Leaf };

/// A node of a decision tree. Children are positions in the list of nodes.
struct TreeNode
{
    TreeTest test = TreeTest::Leaf;
    std::size_t feature = 0;
    double value = 0;
    std::size_t onTrue = 0;
    std::size_t onFalse = 0;
    bool missingIsTrue = false; ///< NaN goes where true goes
    std::size_t firstWeight = 0;
    std::size_t weights = 0;
};

/// What a leaf adds to a score.
struct LeafWeight
{
    std::size_t target = 0;
    double weight = 0;
};

/// Decision trees as ONNX-ML lists them, checked: every root leads to leaves, and no node is reached twice.
struct Trees
{
    std::vector<TreeNode> nodes;
    std::vector<std::size_t> roots;
    std::vector<LeafWeight> weights;

    /// Position of the leaf that a sample reaches. `x` has as many features as were checked.
    template <class T>
    [[nodiscard]] std::size_t leafOf(std::size_t root, const T* x) const
    {
        std::size_t at = root;
        while (nodes[at].test != TreeTest::Leaf) {
            const TreeNode& node = nodes[at];
            at = holds(node, static_cast<double>(x[node.feature])) ? node.onTrue : node.onFalse;
        }
        return at;
    }
    /// What the test of a node says of its feature.
    [[nodiscard]] static bool holds(const TreeNode& node, double x);
};

/// Trees of a node with the attributes nodes_…, and `prefix`_treeids, _nodeids, _ids, _weights, for `features` columns
/// and `targets` scores. Errors (Input): lists of different lengths, children or columns that do not exist, cycles.
[[nodiscard]] base::Result<Trees> treesOf(const BindContext& context, const std::string& prefix, std::int64_t features,
                                          std::int64_t targets);

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
