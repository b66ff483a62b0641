// SPDX-License-Identifier: Apache-2.0
#include "core/ops/ml/treeshapley.h"

#include <cstdint>

namespace retro::ops
{

namespace
{

/// Walks a tree along every path that some coalition takes. On the way each feature that parts x from the baseline is
/// decided once: it is there (x) or it is not (the baseline).
class TreeWalk
{
public:
    TreeWalk(const TreeScores& scores, std::size_t score, std::span<const double> x, std::span<const double> baseline,
             std::span<double> values)
        : m_trees(scores.trees), m_score(score), m_x(x), m_baseline(baseline), m_values(values),
          m_share(scores.aggregate == TreeAggregate::Average ? 1.0 / static_cast<double>(scores.trees.roots.size())
                                                             : 1.0),
          m_decided(x.size(), Side::Open)
    {}

    void tree(std::size_t root)
    {
        m_waiting = {{root, 0, Side::Open, false}};
        while (!m_waiting.empty()) {
            const Turn turn = m_waiting.back();
            m_waiting.pop_back();
            if (turn.isLeft) {
                leave(turn);
                continue;
            }
            if (turn.side != Side::Open) {
                m_waiting.push_back({0, turn.feature, turn.side, true});
                enter(turn);
            }
            follow(turn.node);
        }
    }

private:
    enum class Side : std::uint8_t { Open, There, Away };
    /// A node to go to, behind the decision on a feature; or that decision to be taken back.
    struct Turn
    {
        std::size_t node = 0;
        std::size_t feature = 0;
        Side side = Side::Open;
        bool isLeft = false;
    };

    void enter(const Turn& turn)
    {
        m_decided[turn.feature] = turn.side;
        (turn.side == Side::There ? m_there : m_away).push_back(turn.feature);
    }

    void leave(const Turn& turn)
    {
        m_decided[turn.feature] = Side::Open;
        (turn.side == Side::There ? m_there : m_away).pop_back();
    }

    /// Down to a leaf, or to a node where x and the baseline part.
    void follow(std::size_t at)
    {
        while (m_trees.nodes[at].test != TreeTest::Leaf) {
            const TreeNode& node = m_trees.nodes[at];
            const std::size_t there = Trees::holds(node, m_x[node.feature]) ? node.onTrue : node.onFalse;
            const std::size_t away = Trees::holds(node, m_baseline[node.feature]) ? node.onTrue : node.onFalse;
            if (there != away && m_decided[node.feature] == Side::Open) {
                m_waiting.push_back({away, node.feature, Side::Away, false});
                m_waiting.push_back({there, node.feature, Side::There, false});
                return;
            }
            at = m_decided[node.feature] == Side::Away ? away : there;
        }
        takeLeaf(m_trees.nodes[at]);
    }

    /// The game whose worth is that of the leaf where all of `there` and none of `away` are in the coalition.
    void takeLeaf(const TreeNode& leaf)
    {
        double worth = 0;
        for (std::size_t i = 0; i < leaf.weights; ++i) {
            const LeafWeight& weight = m_trees.weights[leaf.firstWeight + i];
            worth += weight.target == m_score ? weight.weight : 0;
        }
        const auto p = static_cast<double>(m_there.size());
        const auto q = static_cast<double>(m_away.size());
        double orders = 1; // p + q over p
        for (double i = 1; i <= p; ++i) {
            orders *= (q + i) / i;
        }
        for (const std::size_t feature : m_there) {
            m_values[feature] += m_share * worth / (p * orders);
        }
        for (const std::size_t feature : m_away) {
            m_values[feature] -= m_share * worth / (q * orders);
        }
    }

    const Trees& m_trees;
    std::size_t m_score;
    std::span<const double> m_x;
    std::span<const double> m_baseline;
    std::span<double> m_values;
    double m_share;
    std::vector<Side> m_decided; // by feature
    std::vector<std::size_t> m_there;
    std::vector<std::size_t> m_away;
    std::vector<Turn> m_waiting;
};

} // namespace

void addTreeShapley(const TreeScores& scores, std::size_t score, std::span<const double> x,
                    std::span<const double> baseline, std::span<double> values)
{
    TreeWalk walk(scores, score, x, baseline, values);
    for (const std::size_t root : scores.trees.roots) {
        walk.tree(root);
    }
}

} // namespace retro::ops
