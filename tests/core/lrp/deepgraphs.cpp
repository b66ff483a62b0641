// SPDX-License-Identifier: Apache-2.0
#include "tests/core/lrp/deepgraphs.h"

#include <array>
#include <utility>

namespace retro::lrptest
{

namespace
{

using base::NodeId;
using event::PromiseKind;
using lrp::ChildSlot;
using lrp::NodeBehaviour;
using lrp::Role;

class Builder
{
public:
    NodeId leaf() { return add({}, {}); }
    NodeId crossed(NodeId operand) { return add(std::array{slot(operand)}, {Role::PassThrough, false, {}}); }
    NodeId answering(NodeId operand) { return add(std::array{slot(operand)}, {}); }
    NodeId sum(NodeId a, NodeId b) { return add(std::array{slot(a), slot(b)}, {Role::Raise, true, PromiseKind::Add}); }
    NullCase build(NodeId root)
    {
        return {lrp::TraversalGraph::walk(std::move(m_adjacency), root, 0), std::move(m_behaviour)};
    }

private:
    static ChildSlot slot(NodeId node) { return {node, 0, 0}; }
    NodeId add(std::span<const ChildSlot> children, NodeBehaviour behaviour)
    {
        m_adjacency.addNode(children, 1);
        m_behaviour.push_back(behaviour);
        return NodeId(m_behaviour.size() - 1);
    }

    lrp::Adjacency m_adjacency;
    std::vector<NodeBehaviour> m_behaviour;
};

} // namespace

NullCase crossedChain(std::size_t length)
{
    Builder builder;
    const NodeId x = builder.leaf();
    NodeId node = x;
    for (std::size_t i = 0; i < length; ++i) {
        node = builder.crossed(node);
    }
    const NodeId root = builder.sum(x, node);
    return builder.build(root);
}

NullCase residualBlocks(std::size_t blocks, std::size_t inner)
{
    Builder builder;
    NodeId h = builder.leaf();
    for (std::size_t block = 0; block < blocks; ++block) {
        NodeId node = h;
        for (std::size_t i = 0; i < inner; ++i) {
            node = i % 3 == 0 ? builder.answering(node) : builder.crossed(node);
        }
        h = builder.sum(h, node);
    }
    return builder.build(h);
}

} // namespace retro::lrptest
