// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/lrp/arithmetic/arithmetic.h"
#include "core/lrp/traversal/traversalgraph.h"

#include <vector>

namespace retro::lrp
{

/// What a node is for a traversal without values.
struct NodeBehaviour
{
    Role role = Role::Arg;
    bool isStrict = false;
    event::PromiseKind kind = event::PromiseKind::Operator;
};

/// Arithmetic that computes nothing: a traversal over it costs its control alone. Handles are numbers; references are
/// counted as a total, so that a leak or a double release shows.
class NullArithmetic : public Arithmetic
{
public:
    /// `behaviour` per NodeId. The graph must outlive the arithmetic.
    NullArithmetic(const TraversalGraph& graph, std::vector<NodeBehaviour> behaviour)
        : m_graph(graph), m_behaviour(std::move(behaviour))
    {}

    /// A new handle with one reference.
    [[nodiscard]] HandleId newHandle();
    /// References that nobody has released yet.
    [[nodiscard]] std::int64_t references() const { return m_references; }

    [[nodiscard]] Role role(NodeId node) const override { return m_behaviour[node.index()].role; }
    [[nodiscard]] bool isStrict(NodeId node) const override { return m_behaviour[node.index()].isStrict; }
    [[nodiscard]] event::PromiseKind promiseKind(NodeId node) const override { return m_behaviour[node.index()].kind; }
    [[nodiscard]] bool hasBranch(NodeId, std::uint32_t) const override { return true; }
    void beginVisit(std::uint32_t) override {}
    [[nodiscard]] HandleId sum(NodeId node, std::uint32_t k, std::span<const HandleId> parts) override;
    /// A new handle per tracked slot.
    [[nodiscard]] std::vector<HandleId> applyRule(NodeId node, std::span<const HandleId> relevance,
                                                  std::span<const HandleId> operands) override;
    [[nodiscard]] HandleId ownOutput(NodeId, std::uint32_t) override { return newHandle(); }
    [[nodiscard]] HandleId carryForward(std::span<const NodeId>, HandleId) override { return newHandle(); }
    [[nodiscard]] HandleId forwardOutput(NodeId, std::span<const HandleId>, std::uint32_t) override
    {
        return newHandle();
    }
    [[nodiscard]] HandleId untrackedOperand(NodeId, std::uint32_t) override { return newHandle(); }
    void retain(HandleId) override { ++m_references; }
    void release(HandleId) override { --m_references; }

private:
    const TraversalGraph& m_graph;
    std::vector<NodeBehaviour> m_behaviour;
    std::uint32_t m_nextHandle = 0;
    std::int64_t m_references = 0;
};

} // namespace retro::lrp
