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

} // namespace retro::ops
