// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/base/result.h"
#include "core/graph/graph.h"
#include "core/program/firstpass.h"

#include <span>
#include <vector>

namespace retro::program
{

/// Where an operand's relevance goes: in-edge `inEdge` of `child`. Child invalid: the operand takes none.
struct WiredSlot
{
    NodeId child;
    std::uint32_t inEdge = 0;
};

/// The virtual in-edge of an explained output.
struct WiredRoot
{
    NodeId node;
    std::uint32_t inEdge = 0;
    std::uint32_t output = 0;
};

/// An in-edge of a node: operand slot `slot` of `consumer` reads output `output`. Consumer invalid: the virtual edge of
/// the root, or (isThere false) an edge along which nothing landed.
struct WiredEdge
{
    NodeId consumer;
    std::uint32_t slot = 0;
    std::uint32_t output = 0;
    bool isThere = false;
    bool isJoined = false; ///< its part is first added to that of the edge before it
};

/// The part of the graph that relevance went through, as the parts that landed tell it: slots, in-edges in their order,
/// and the post-order of a depth-first walk from the roots (docs/traversal.md, section 1.1).
class Wiring
{
public:
    /// Errors (Input): parts that contradict the graph or each other.
    [[nodiscard]] static base::Result<Wiring> build(const FirstPass& pass, const graph::Graph& graph,
                                                    std::span<const ValueId> targets);

    /// One per explained value, in order.
    [[nodiscard]] const std::vector<WiredRoot>& roots() const { return m_roots; }
    /// By operand slot; empty for inputs and nodes that sent nothing.
    [[nodiscard]] const std::vector<WiredSlot>& slots(NodeId node) const { return m_slots[node.index()]; }
    [[nodiscard]] const std::vector<WiredEdge>& inEdges(NodeId node) const { return m_inEdges[node.index()]; }
    /// Nodes that relevance reached, leaves first.
    [[nodiscard]] const std::vector<NodeId>& postOrder() const { return m_postOrder; }
    [[nodiscard]] bool contains(NodeId node) const { return m_topo[node.index()] != kUnreached; }
    /// Position in postOrder().
    [[nodiscard]] std::uint32_t topo(NodeId node) const { return m_topo[node.index()]; }

private:
    static constexpr std::uint32_t kUnreached = 0xffffffffU;

    explicit Wiring(std::size_t nodes) : m_slots(nodes), m_inEdges(nodes), m_topo(nodes, kUnreached) {}
    [[nodiscard]] bool start(const LandedPart& part, const graph::Graph& graph, std::span<const ValueId> targets);
    [[nodiscard]] bool land(const LandedPart& part, const graph::Graph& graph);
    [[nodiscard]] bool put(NodeId child, std::uint32_t inEdge, const WiredEdge& edge);
    void number();
    void walkFrom(NodeId root, std::vector<bool>& seen);

    std::vector<WiredRoot> m_roots;
    std::vector<std::vector<WiredSlot>> m_slots;
    std::vector<std::vector<WiredEdge>> m_inEdges;
    std::vector<std::uint32_t> m_topo;
    std::size_t m_mostEdges = 0; // that any node can have
    std::vector<NodeId> m_postOrder;
};

} // namespace retro::program
