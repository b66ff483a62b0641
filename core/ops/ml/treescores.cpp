// SPDX-License-Identifier: Apache-2.0
#include "core/ops/ml/treescores.h"

#include "core/ops/ml/nodelists.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <map>

namespace retro::ops
{

using tensor::DType;

namespace
{

using TreeKey = std::pair<std::int64_t, std::int64_t>; // tree, node

base::Result<TreeTest> treeTest(const BindContext& context, const std::string& mode)
{
    static constexpr std::array<std::string_view, 7> kModes{"BRANCH_LEQ", "BRANCH_LT",  "BRANCH_GTE", "BRANCH_GT",
                                                            "BRANCH_EQ",  "BRANCH_NEQ", "LEAF"};
    const auto at = std::find(kModes.begin(), kModes.end(), mode);
    if (at == kModes.end()) {
        return context.error(fmt::format("nodes_modes names '{}', which is no test of a tree", mode));
    }
    return static_cast<TreeTest>(at - kModes.begin());
}

class TreeReader
{
public:
    TreeReader(const BindContext& context, std::int64_t features, std::int64_t targets)
        : m_context(context), m_features(features), m_targets(targets)
    {}

    base::Result<Trees> read(const std::string& prefix)
    {
        RETRO_CHECK(readNodes());
        RETRO_CHECK(linkNodes());
        RETRO_CHECK(readWeights(prefix));
        RETRO_CHECK(findRoots());
        return std::move(m_trees);
    }

private:
    [[nodiscard]] std::vector<std::int64_t> ints(const std::string& name) const
    {
        return m_context.intsAttribute(name, {});
    }

    base::Result<void> readNodes()
    {
        const auto trees = ints("nodes_treeids");
        const auto nodes = ints("nodes_nodeids");
        const auto features = ints("nodes_featureids");
        const std::vector<double> values = realsOf(m_context, "nodes_values");
        const std::vector<std::string> modes = textsOf(m_context, "nodes_modes");
        const auto missing = ints("nodes_missing_value_tracks_true");
        const std::size_t count = nodes.size();
        if (count == 0 || trees.size() != count || features.size() != count || values.size() != count ||
            modes.size() != count || (!missing.empty() && missing.size() != count)) {
            return m_context.error("the lists nodes_treeids, nodes_nodeids, nodes_featureids, nodes_values and "
                                   "nodes_modes need one length");
        }
        for (std::size_t i = 0; i < count; ++i) {
            TreeNode node;
            RETRO_TRY(node.test, treeTest(m_context, modes[i]));
            if (node.test != TreeTest::Leaf && (features[i] < 0 || features[i] >= m_features)) {
                return m_context.error(fmt::format("a tree asks for feature {} of {}", features[i], m_features));
            }
            node.feature = node.test == TreeTest::Leaf ? 0 : static_cast<std::size_t>(features[i]);
            node.value = values[i];
            node.missingIsTrue = !missing.empty() && missing[i] != 0;
            m_trees.nodes.push_back(node);
            if (!m_positions.emplace(TreeKey{trees[i], nodes[i]}, i).second) {
                return m_context.error(fmt::format("node {} of tree {} is listed twice", nodes[i], trees[i]));
            }
        }
        return {};
    }

    base::Result<void> linkNodes()
    {
        const auto trees = ints("nodes_treeids");
        const auto onTrue = ints("nodes_truenodeids");
        const auto onFalse = ints("nodes_falsenodeids");
        if (onTrue.size() != trees.size() || onFalse.size() != trees.size()) {
            return m_context.error("the lists nodes_truenodeids and nodes_falsenodeids need an entry per node");
        }
        m_isChild.assign(trees.size(), false);
        for (std::size_t i = 0; i < trees.size(); ++i) {
            TreeNode& node = m_trees.nodes[i];
            if (node.test == TreeTest::Leaf) {
                continue;
            }
            RETRO_TRY(node.onTrue, childOf({trees[i], onTrue[i]}));
            RETRO_TRY(node.onFalse, childOf({trees[i], onFalse[i]}));
        }
        return {};
    }

    base::Result<std::size_t> childOf(const TreeKey& key)
    {
        const auto at = m_positions.find(key);
        if (at == m_positions.end() || m_isChild[at->second]) {
            return m_context.error(fmt::format("node {} of tree {} {}", key.second, key.first,
                                               at == m_positions.end() ? "does not exist" : "has two parents"));
        }
        m_isChild[at->second] = true;
        return at->second;
    }

    base::Result<void> readWeights(const std::string& prefix)
    {
        const auto trees = ints(prefix + "_treeids");
        const auto nodes = ints(prefix + "_nodeids");
        const auto targets = ints(prefix + "_ids");
        const std::vector<double> weights = realsOf(m_context, prefix + "_weights");
        if (trees.size() != nodes.size() || targets.size() != nodes.size() || weights.size() != nodes.size()) {
            return m_context.error(fmt::format("the lists {0}_treeids, {0}_nodeids, {0}_ids and {0}_weights need one "
                                               "length",
                                               prefix));
        }
        std::vector<std::vector<LeafWeight>> perNode(m_trees.nodes.size());
        for (std::size_t i = 0; i < nodes.size(); ++i) {
            const auto at = m_positions.find({trees[i], nodes[i]});
            if (at == m_positions.end() || targets[i] < 0 || targets[i] >= m_targets) {
                return m_context.error(fmt::format("a weight names node {} of tree {} and score {} of {}, of which one "
                                                   "does not exist",
                                                   nodes[i], trees[i], targets[i], m_targets));
            }
            perNode[at->second].push_back({static_cast<std::size_t>(targets[i]), weights[i]});
        }
        for (std::size_t i = 0; i < perNode.size(); ++i) {
            m_trees.nodes[i].firstWeight = m_trees.weights.size();
            m_trees.nodes[i].weights = perNode[i].size();
            m_trees.weights.insert(m_trees.weights.end(), perNode[i].begin(), perNode[i].end());
        }
        return {};
    }

    /// Every node has one parent or none, so what a root does not reach lies on a cycle.
    base::Result<void> findRoots()
    {
        std::vector<std::size_t> waiting;
        for (std::size_t i = 0; i < m_isChild.size(); ++i) {
            if (!m_isChild[i]) {
                m_trees.roots.push_back(i);
                waiting.push_back(i);
            }
        }
        std::size_t reached = 0;
        while (!waiting.empty()) {
            const TreeNode& node = m_trees.nodes[waiting.back()];
            waiting.pop_back();
            ++reached;
            if (node.test != TreeTest::Leaf) {
                waiting.insert(waiting.end(), {node.onTrue, node.onFalse});
            }
        }
        if (reached != m_trees.nodes.size()) {
            return m_context.error("nodes of its trees lead to themselves");
        }
        return {};
    }

    const BindContext& m_context;
    std::int64_t m_features;
    std::int64_t m_targets;
    Trees m_trees;
    std::map<TreeKey, std::size_t> m_positions;
    std::vector<bool> m_isChild;
};

} // namespace

bool Trees::holds(const TreeNode& node, double x)
{
    if (std::isnan(x) && node.missingIsTrue) {
        return true;
    }
    switch (node.test) {
    case TreeTest::LessOrEqual:
        return x <= node.value;
    case TreeTest::Less:
        return x < node.value;
    case TreeTest::GreaterOrEqual:
        return x >= node.value;
    case TreeTest::Greater:
        return x > node.value;
    case TreeTest::Equal:
        return x == node.value;
    case TreeTest::NotEqual:
        return x != node.value;
    case TreeTest::Leaf:
        break;
    }
    return false;
}

base::Result<Trees> treesOf(const BindContext& context, const std::string& prefix, std::int64_t features,
                            std::int64_t targets)
{
    return TreeReader(context, features, targets).read(prefix);
}

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
