// SPDX-License-Identifier: Apache-2.0
#include "core/program/wiring.h"

namespace retro::program
{

namespace
{

/// Tokens land at the input that they are, past the shape maps and casts in between: their in-edge reads its only
/// output.
bool isTokensOf(const graph::Graph& graph, ValueId operand, NodeId child)
{
    return graph.isInput(child) && graph.value(operand).kind == graph::ValueKind::Result;
}

/// A node that takes relevance in the walk, and the slot that comes next.
struct Step
{
    NodeId node;
    std::size_t nextSlot = 0;
};

} // namespace

base::Result<Wiring> Wiring::build(const FirstPass& pass, const graph::Graph& graph, std::span<const ValueId> targets)
{
    Wiring wiring(graph.runNodeCount());
    wiring.m_mostEdges = pass.landed().size();
    for (const LandedPart& part : pass.landed()) {
        if (part.consumer.isValid() ? !wiring.land(part, graph) : !wiring.start(part, graph, targets)) {
            return base::inputError("its events do not tell through which operand each part came: it was recorded "
                                    "before runs kept that; record it again");
        }
    }
    if (wiring.m_roots.empty() || wiring.m_roots.size() != targets.size()) {
        return base::inputError("its events do not start at the explained value");
    }
    wiring.number();
    return wiring;
}

/// Start relevances land in the order of the explained values.
bool Wiring::start(const LandedPart& part, const graph::Graph& graph, std::span<const ValueId> targets)
{
    const std::size_t i = m_roots.size();
    if (i >= targets.size() || targets[i].index() >= graph.valueCount() || graph.nodeOf(targets[i]) != part.child) {
        return false;
    }
    m_roots.push_back({part.child, part.inEdge, graph.value(targets[i]).producerOutput});
    return put(part.child, part.inEdge, {NodeId(), 0, m_roots.back().output, true});
}

/// False when the part cannot have come this way.
bool Wiring::land(const LandedPart& part, const graph::Graph& graph)
{
    if (part.consumer.index() >= graph.nodeCount() || part.slot >= graph.node(part.consumer).inputs.size()) {
        return false;
    }
    const ValueId operand = graph.node(part.consumer).inputs[part.slot];
    const bool isOwn = operand.isValid() && graph.nodeOf(operand) == part.child;
    if (!operand.isValid() || (!isOwn && !isTokensOf(graph, operand, part.child))) {
        return false;
    }
    std::vector<WiredSlot>& slots = m_slots[part.consumer.index()];
    slots.resize(graph.node(part.consumer).inputs.size());
    if (slots[part.slot].child.isValid()) {
        return false;
    }
    slots[part.slot] = {part.child, part.inEdge};
    const std::uint32_t output = isOwn ? graph.value(operand).producerOutput : 0;
    return put(part.child, part.inEdge, {part.consumer, part.slot, output, true, part.isJoined});
}

bool Wiring::put(NodeId child, std::uint32_t inEdge, const WiredEdge& edge)
{
    std::vector<WiredEdge>& edges = m_inEdges[child.index()];
    if (inEdge >= m_mostEdges || (inEdge < edges.size() && edges[inEdge].isThere)) {
        return false;
    }
    if (edges.size() <= inEdge) {
        edges.resize(inEdge + 1);
    }
    edges[inEdge] = edge;
    return true;
}

/// The walk starts at the roots in order, each unless an earlier one led to it.
void Wiring::number()
{
    std::vector<bool> seen(m_slots.size(), false);
    for (const WiredRoot& root : m_roots) {
        if (!seen[root.node.index()]) {
            walkFrom(root.node, seen);
        }
    }
}

void Wiring::walkFrom(NodeId root, std::vector<bool>& seen)
{
    std::vector<Step> stack{{root, 0}};
    seen[root.index()] = true;
    while (!stack.empty()) {
        Step& top = stack.back();
        const std::vector<WiredSlot>& slots = m_slots[top.node.index()];
        if (top.nextSlot == slots.size()) {
            m_topo[top.node.index()] = static_cast<std::uint32_t>(m_postOrder.size());
            m_postOrder.push_back(top.node);
            stack.pop_back();
            continue;
        }
        const NodeId child = slots[top.nextSlot++].child;
        if (child.isValid() && !seen[child.index()]) {
            seen[child.index()] = true;
            stack.push_back({child, 0});
        }
    }
}

} // namespace retro::program
