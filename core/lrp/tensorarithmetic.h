// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/event/sink.h"
#include "core/execute/savedvalues.h"
#include "core/lrp/arithmetic.h"
#include "core/lrp/composite.h"
#include "core/lrp/traversalgraph.h"

#include <memory>
#include <vector>

namespace retro::lrp
{

/// Arithmetic on real tensors: rules from a RuleAssignment, values from what the forward pass saved. Reports each new
/// handle and each ledger row to the sink. Tensors are dropped when their last reference is released.
class TensorArithmetic final : public Arithmetic
{
public:
    /// `audit` = compute ledger rows (costs one pass over the outputs per rule).
    TensorArithmetic(execute::SavedValues saved, const RuleAssignment& rules, const TraversalGraph& graph,
                     event::Sink& sink, bool audit);

    /// A handle for a tensor from outside (the start relevance).
    [[nodiscard]] HandleId adopt(Tensor tensor);
    /// The tensor of a live handle.
    [[nodiscard]] const Tensor& tensor(HandleId handle) const;

    [[nodiscard]] Role role(NodeId node) const override;
    [[nodiscard]] bool isStrict(NodeId node) const override;
    [[nodiscard]] event::PromiseKind promiseKind(NodeId node) const override;
    [[nodiscard]] bool hasBranch(NodeId node, std::uint32_t slot) const override;
    void beginVisit(std::uint32_t visit) override { m_visit = visit; }
    [[nodiscard]] HandleId sum(std::span<const HandleId> parts) override;
    [[nodiscard]] std::vector<HandleId> applyRule(NodeId node, std::span<const HandleId> relevance,
                                                  std::span<const HandleId> operands) override;
    [[nodiscard]] HandleId ownOutput(NodeId node, std::uint32_t k) override;
    [[nodiscard]] HandleId carryForward(NodeId node, HandleId operand) override;
    [[nodiscard]] HandleId forwardOutput(NodeId node, std::span<const HandleId> operands, std::uint32_t k) override;
    [[nodiscard]] HandleId untrackedOperand(NodeId node, std::uint32_t slot) override;
    void retain(HandleId handle) override;
    void release(HandleId handle) override;

private:
    struct NodeFacts
    {
        Role role = Role::Raise;
        bool strict = false;
        std::vector<std::uint8_t> tracked; // per operand slot
    };
    struct Entry
    {
        Tensor tensor;
        std::uint32_t references = 0;
    };

    [[nodiscard]] NodeFacts factsOf(NodeId node, const TraversalGraph& graph) const;
    [[nodiscard]] std::vector<Tensor> operandsFor(NodeId node, std::span<const HandleId> operands) const;

    execute::SavedValues m_saved;
    const RuleAssignment& m_rules;
    event::Sink& m_sink;
    bool m_audit;
    std::vector<NodeFacts> m_facts;
    std::vector<Entry> m_entries;
    std::uint32_t m_visit = 0;
};

} // namespace retro::lrp
