// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/base/result.h"
#include "core/execute/boundmodel.h"

#include <cstdint>
#include <span>
#include <vector>

namespace retro::lrp
{

using base::NodeId;
using base::ValueId;

/// A child slot of a node: which node made operand i, and which of its outputs. `child` invalid = operand not tracked.
struct ChildSlot
{
    NodeId child;
    std::uint32_t output = 0;
    std::uint32_t inEdge = 0; ///< position of this edge among the child's in-edges
};

/// An in-edge of a node: a tracked use of one of its outputs.
struct InEdge
{
    NodeId consumer; ///< invalid for the virtual edge of a root
    std::uint32_t consumerSlot = 0;
    std::uint32_t output = 0;
    bool isJoined = false; ///< its part is first added to that of the in-edge of the same output before it
};

/// How the in-edges of a node are numbered, which is the order in which their parts are added.
enum class EdgeOrder : std::uint8_t {
    Met, ///< as a depth-first walk from the roots meets them
    Tape ///< as a tape adds: starts, then consumers from the last to the first, those of one value joined in slot order
};

/// An output of a node.
struct NodeOutput
{
    NodeId node;
    std::uint32_t output = 0;
    bool operator==(const NodeOutput&) const = default;
};

/// An output at which relevance starts, and the virtual edge by which it arrives there.
struct Root
{
    NodeId node;
    std::uint32_t output = 0;
    std::uint32_t inEdge = 0; ///< position of the virtual edge among the node's in-edges
};

/// The child slots of every node and how many outputs each has, before the walk that numbers them.
struct Adjacency
{
    std::vector<ChildSlot> childSlots;      ///< all child slots, node by node; `inEdge` is filled by the walk
    std::vector<std::uint32_t> slotEnd;     ///< per node: end of its slots
    std::vector<std::uint32_t> outputCount; ///< per node

    /// Appends the next node (ids count from 0) with its child slots.
    void addNode(std::span<const ChildSlot> children, std::uint32_t outputs);
};

/// The graph as the traversal sees it (docs/traversal.md, section 1.1): nodes that the target depends on
/// and that pass relevance, inputs as leaves, child slots with gaps for untracked operands, in-edges in the chosen
/// order, post-order indices. Built with an explicit stack: depth is bounded by memory alone.
class TraversalGraph
{
public:
    /// `target` is the explained value. Errors (Input): the target is not tracked (constant, integer, or independent of
    /// the inputs).
    [[nodiscard]] static base::Result<TraversalGraph> build(const execute::BoundModel& model, ValueId target);
    /// Several explained values, at least one and each once: each gets a virtual edge of its own, also one that another
    /// one depends on. Errors as above, and Usage: a value is named twice.
    [[nodiscard]] static base::Result<TraversalGraph>
    build(const execute::BoundModel& model, std::span<const ValueId> targets, EdgeOrder order = EdgeOrder::Met);
    /// The same walk over plain adjacency, from output `rootOutput` of `root`. Children must form no cycle.
    [[nodiscard]] static TraversalGraph walk(Adjacency adjacency, NodeId root, std::uint32_t rootOutput);
    /// The same walk from each of these in turn; at least one.
    [[nodiscard]] static TraversalGraph walk(Adjacency adjacency, std::span<const NodeOutput> roots,
                                             EdgeOrder order = EdgeOrder::Met);

    /// Where relevance starts, in the order of the targets.
    [[nodiscard]] std::span<const Root> roots() const { return m_roots; }
    /// Node of the first root, and which of its outputs.
    [[nodiscard]] NodeId root() const { return m_roots.front().node; }
    [[nodiscard]] std::uint32_t rootOutput() const { return m_roots.front().output; }
    /// True when the walk from the roots reached the node.
    [[nodiscard]] bool contains(NodeId node) const { return m_topo[node.index()] != kUnreached; }
    /// One entry per operand slot.
    [[nodiscard]] std::span<const ChildSlot> children(NodeId node) const
    {
        const std::uint32_t begin = node.index() == 0 ? 0 : m_adjacency.slotEnd[node.index() - 1];
        return {m_adjacency.childSlots.data() + begin, m_adjacency.slotEnd[node.index()] - begin};
    }
    /// In the order in which their parts are added; the virtual edge of the first root is its first.
    [[nodiscard]] std::span<const InEdge> inEdges(NodeId node) const
    {
        return {m_inEdges.data() + firstInEdge(node), m_firstInEdge[node.index() + 1] - firstInEdge(node)};
    }
    /// Number of in-edges of all nodes before `node`: in-edge i of a node has the number firstInEdge(node) + i, which
    /// is below inEdgeCount().
    [[nodiscard]] std::uint32_t firstInEdge(NodeId node) const { return m_firstInEdge[node.index()]; }
    [[nodiscard]] std::size_t inEdgeCount() const { return m_inEdges.size(); }
    /// Post-order index: leaves small, root largest. Node must be contained.
    [[nodiscard]] std::uint32_t topo(NodeId node) const { return m_topo[node.index()]; }
    /// Contained nodes by increasing post-order index.
    [[nodiscard]] std::span<const NodeId> postOrder() const { return m_postOrder; }
    /// Number of outputs of a node (1 for inputs).
    [[nodiscard]] std::size_t outputCount(NodeId node) const { return m_adjacency.outputCount[node.index()]; }
    /// Size of arrays indexed by NodeId.
    [[nodiscard]] std::size_t size() const { return m_topo.size(); }

private:
    static constexpr std::uint32_t kUnreached = 0xffffffffU;

    void number();
    void walkFrom(NodeId root, std::vector<std::uint32_t>& inEdgeCounts);
    void collectInEdges(const std::vector<std::uint32_t>& inEdgeCounts);
    void orderAsTape();
    void orderAsTape(NodeId node);
    void renumber();

    std::vector<Root> m_roots;
    Adjacency m_adjacency;
    std::vector<InEdge> m_inEdges;            // node by node
    std::vector<std::uint32_t> m_firstInEdge; // per node, and the total at the end
    std::vector<std::uint32_t> m_topo;
    std::vector<NodeId> m_postOrder;
};

} // namespace retro::lrp
