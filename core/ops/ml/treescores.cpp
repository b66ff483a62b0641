// SPDX-License-Identifier: Apache-2.0
#include "core/ops/ml/treescores.h"

#include "core/ops/ml/nodelists.h"

#include <fmt/format.h>

#include <algorithm>

namespace retro::ops
{

using tensor::DType;

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

namespace
{

/// The attributes of a TreeEnsemble, of one length where they go together.
class JoinedReader
{
public:
    JoinedReader(const BindContext& context, std::int64_t features, std::int64_t targets)
        : m_context(context), m_features(features), m_targets(targets)
    {}

    base::Result<Trees> read()
    {
        RETRO_CHECK(readTests());
        RETRO_CHECK(readLeaves());
        RETRO_CHECK(link());
        for (const std::int64_t root : ints("tree_roots")) {
            if (root < 0 || root >= static_cast<std::int64_t>(m_count) || m_isChild[static_cast<std::size_t>(root)]) {
                return m_context.error(fmt::format("tree_roots names node {}, which is no root", root));
            }
            m_isChild[static_cast<std::size_t>(root)] = true; // a root twice would be its own tree twice
            m_trees.roots.push_back(static_cast<std::size_t>(root));
        }
        if (m_trees.roots.empty()) {
            return m_context.error("tree_roots is empty");
        }
        return std::move(m_trees);
    }

private:
    [[nodiscard]] std::vector<std::int64_t> ints(const char* name) const { return m_context.intsAttribute(name, {}); }

    /// A list of the attribute's numbers; empty when it is missing.
    [[nodiscard]] std::vector<double> numbers(const char* name) const
    {
        const auto at = m_context.node.attributes.find(name);
        const auto* data = at == m_context.node.attributes.end() ? nullptr : std::get_if<Tensor>(&at->second);
        if (data == nullptr || !data->isValid()) {
            return {};
        }
        const Tensor wide = data->to(DType::Float64).contiguous();
        return {wide.span<double>().begin(), wide.span<double>().end()};
    }

    base::Result<void> readTests()
    {
        const auto features = ints("nodes_featureids");
        const auto modes = numbers("nodes_modes");
        const auto splits = numbers("nodes_splits");
        const auto missing = ints("nodes_missing_value_tracks_true");
        m_count = features.size();
        if (m_count == 0 || modes.size() != m_count || splits.size() != m_count ||
            (!missing.empty() && missing.size() != m_count)) {
            return m_context.error("the lists nodes_featureids, nodes_modes and nodes_splits need one length");
        }
        for (std::size_t i = 0; i < m_count; ++i) {
            if (features[i] < 0 || features[i] >= m_features) {
                return m_context.error(fmt::format("a tree asks for feature {} of {}", features[i], m_features));
            }
            if (modes[i] < 0 || modes[i] > static_cast<double>(TreeTest::NotEqual)) {
                return m_context.error("a tree tests for membership or in an unknown way, which is not supported");
            }
            TreeNode node;
            node.test = static_cast<TreeTest>(static_cast<int>(modes[i]));
            node.feature = static_cast<std::size_t>(features[i]);
            node.value = splits[i];
            node.missingIsTrue = !missing.empty() && missing[i] != 0;
            m_trees.nodes.push_back(node);
        }
        m_isChild.assign(m_count, false);
        return {};
    }

    base::Result<void> readLeaves()
    {
        const auto targets = ints("leaf_targetids");
        const auto weights = numbers("leaf_weights");
        if (targets.size() != weights.size()) {
            return m_context.error("leaf_targetids and leaf_weights need one length");
        }
        for (std::size_t i = 0; i < targets.size(); ++i) {
            if (targets[i] < 0 || targets[i] >= m_targets) {
                return m_context.error(fmt::format("a leaf gives score {} of {}", targets[i], m_targets));
            }
            m_trees.weights.push_back({static_cast<std::size_t>(targets[i]), weights[i]});
        }
        return {};
    }

    base::Result<void> link()
    {
        const auto onTrue = ints("nodes_truenodeids");
        const auto onFalse = ints("nodes_falsenodeids");
        const auto trueLeaves = ints("nodes_trueleafs");
        const auto falseLeaves = ints("nodes_falseleafs");
        if (onTrue.size() != m_count || onFalse.size() != m_count || trueLeaves.size() != m_count ||
            falseLeaves.size() != m_count) {
            return m_context.error("the lists of children need an entry per node");
        }
        for (std::size_t i = 0; i < m_count; ++i) {
            RETRO_TRY(const std::size_t first, childOf(i, onTrue[i], trueLeaves[i] != 0));
            RETRO_TRY(const std::size_t second, childOf(i, onFalse[i], falseLeaves[i] != 0));
            m_trees.nodes[i].onTrue = first;
            m_trees.nodes[i].onFalse = second;
        }
        return {};
    }

    /// Nodes stand in front of their children, so that no path comes back.
    base::Result<std::size_t> childOf(std::size_t parent, std::int64_t child, bool isLeaf)
    {
        const std::size_t most = isLeaf ? m_trees.weights.size() : m_count;
        if (child < 0 || static_cast<std::size_t>(child) >= most) {
            return m_context.error(
                fmt::format("node {} leads to {} {}, which does not exist", parent, isLeaf ? "leaf" : "node", child));
        }
        const auto at = static_cast<std::size_t>(child);
        if (isLeaf) {
            TreeNode leaf;
            leaf.firstWeight = at;
            leaf.weights = 1;
            m_trees.nodes.push_back(leaf);
            return m_trees.nodes.size() - 1;
        }
        if (at <= parent || m_isChild[at]) {
            return m_context.error(
                fmt::format("node {} leads to node {}, which stands before it or has another parent", parent, child));
        }
        m_isChild[at] = true;
        return at;
    }

    const BindContext& m_context;
    std::int64_t m_features;
    std::int64_t m_targets;
    Trees m_trees;
    std::size_t m_count = 0;
    std::vector<bool> m_isChild;
};

} // namespace

base::Result<Trees> joinedTrees(const BindContext& context, std::int64_t features, std::int64_t targets)
{
    return JoinedReader(context, features, targets).read();
}

} // namespace retro::ops
