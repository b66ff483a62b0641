// SPDX-License-Identifier: Apache-2.0
#include "core/ops/ml/treescores.h"

#include <algorithm>

namespace retro::ops
{

using tensor::DType;

namespace
{

bool leafGives(const Trees& trees, const TreeNode& leaf, std::size_t score)
{
    const auto first = trees.weights.begin() + static_cast<std::ptrdiff_t>(leaf.firstWeight);
    return std::any_of(first, first + static_cast<std::ptrdiff_t>(leaf.weights),
                       [score](const LeafWeight& weight) { return weight.target == score; });
}

bool allLeavesGive(const Trees& trees, std::size_t root, std::size_t score)
{
    std::vector<std::size_t> waiting{root};
    while (!waiting.empty()) {
        const TreeNode& node = trees.nodes[waiting.back()];
        waiting.pop_back();
        if (node.test != TreeTest::Leaf) {
            waiting.insert(waiting.end(), {node.onTrue, node.onFalse});
        } else if (!leafGives(trees, node, score)) {
            return false;
        }
    }
    return true;
}

} // namespace

void TreeScores::add(const TreeNode& leaf, SampleScores& scores) const
{
    for (std::size_t i = 0; i < leaf.weights; ++i) {
        const LeafWeight& weight = trees.weights[leaf.firstWeight + i];
        double& score = scores.values[weight.target];
        const bool isFirst = !scores.isGiven[weight.target];
        if (aggregate == TreeAggregate::Least) {
            score = isFirst ? weight.weight : std::min(score, weight.weight);
        } else if (aggregate == TreeAggregate::Most) {
            score = isFirst ? weight.weight : std::max(score, weight.weight);
        } else {
            score += weight.weight;
        }
        scores.isGiven[weight.target] = true;
    }
}

SampleScores TreeScores::ofSample(const Tensor& x, std::int64_t sample) const
{
    SampleScores scores{std::vector<double>(targets), std::vector<bool>(targets)};
    const std::int64_t features = x.shape().back();
    for (const std::size_t root : trees.roots) {
        const std::size_t leaf = x.dtype() == DType::Float32
                                     ? trees.leafOf(root, x.span<float>().data() + sample * features)
                                     : trees.leafOf(root, x.span<double>().data() + sample * features);
        add(trees.nodes[leaf], scores);
    }
    for (double& score : scores.values) {
        score /= aggregate == TreeAggregate::Average ? static_cast<double>(trees.roots.size()) : 1.0;
    }
    for (std::size_t k = 0; k < base.size(); ++k) {
        scores.values[k] += baseIsScore || scores.isGiven[k] ? base[k] : 0;
        scores.isGiven[k] = baseIsScore || scores.isGiven[k];
    }
    return scores;
}

std::string TreeScores::whyNoSum(std::size_t k) const
{
    if (trees.roots.size() > 1 && (aggregate == TreeAggregate::Least || aggregate == TreeAggregate::Most)) {
        return "it takes the least or the largest of its trees, not their sum";
    }
    const bool hasBase = !baseIsScore && k < base.size() && base[k] != 0;
    const bool isAlwaysGiven =
        std::ranges::any_of(trees.roots, [&](std::size_t root) { return allLeavesGive(trees, root, k); });
    return hasBase && !isAlwaysGiven
               ? "its base value counts only where a leaf gives the score, and no tree always does"
               : std::string();
}

} // namespace retro::ops
