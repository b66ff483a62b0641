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
    NodeId consumer; ///< invalid for the virtual edge of the root
    std::uint32_t consumerSlot = 0;
    std::uint32_t output = 0;
};

/// The graph as the traversal sees it (specification of the traversal, section 1.1): nodes that the target depends on
/// and that pass relevance, inputs as leaves, child slots with gaps for untracked operands, in-edges in the order in
/// which a depth-first walk from the root meets them, post-order indices. Built with an explicit stack: depth is
/// bounded by memory alone.
class TraversalGraph
{
public:
    /// `target` is the explained value. Errors (Input): the target is not tracked (constant, integer, or independent of
    /// the inputs).
    [[nodiscard]] static base::Result<TraversalGraph> build(const execute::BoundModel& model, ValueId target);

    [[nodiscard]] NodeId root() const { return m_root; }
    [[nodiscard]] std::uint32_t rootOutput() const { return m_rootOutput; }
    [[nodiscard]] bool contains(NodeId node) const { return m_topo[node.index()] != kUnreached; }
    [[nodiscard]] std::span<const ChildSlot> children(NodeId node) const { return m_children[node.index()]; }
    [[nodiscard]] std::span<const InEdge> inEdges(NodeId node) const { return m_inEdges[node.index()]; }
    /// Post-order index: leaves small, root largest. Node must be contained.
    [[nodiscard]] std::uint32_t topo(NodeId node) const { return m_topo[node.index()]; }
    /// Contained nodes by increasing post-order index.
    [[nodiscard]] std::span<const NodeId> postOrder() const { return m_postOrder; }
    /// Number of outputs of a node (1 for inputs).
    [[nodiscard]] std::size_t outputCount(NodeId node) const { return m_outputCount[node.index()]; }
    /// Size of arrays indexed by NodeId.
    [[nodiscard]] std::size_t size() const { return m_topo.size(); }

private:
    static constexpr std::uint32_t kUnreached = 0xffffffffU;
    NodeId m_root;
    std::uint32_t m_rootOutput = 0;
    std::vector<std::vector<ChildSlot>> m_children;
    std::vector<std::vector<InEdge>> m_inEdges;
    std::vector<std::uint32_t> m_topo;
    std::vector<NodeId> m_postOrder;
    std::vector<std::uint32_t> m_outputCount;
};

} // namespace retro::lrp
