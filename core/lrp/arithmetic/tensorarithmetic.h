// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/event/observer.h"
#include "core/event/sink.h"
#include "core/execute/savedvalues.h"
#include "core/lrp/arithmetic/arithmetic.h"
#include "core/lrp/composite/composite.h"
#include "core/lrp/rules/ruleapplication.h"
#include "core/lrp/traversal/handleorigin.h"
#include "core/lrp/traversal/passmemory.h"
#include "core/lrp/traversal/traversalgraph.h"

#include <memory>
#include <vector>

namespace retro::lrp
{

/// Arithmetic on real tensors: rules from a RuleAssignment, values from what the forward pass saved. Reports each new
/// handle and each ledger row to the sink. Tensors are dropped when their last reference is released.
///
/// Roles follow from what was saved: a node answers a search when its consumed outputs or all its operands were saved;
/// it is crossed when it has one tracked operand, one output, and a rule that reads nothing that the node lacks;
/// otherwise it raises a promise. A product with one tracked factor is crossed even when it could answer, and nodes
/// that join operands (Concat) always raise (docs/traversal.md, sections 1.5 and 4).
class TensorArithmetic final : public Arithmetic
{
public:
    /// `audit` = compute ledger rows (costs one pass over the outputs per rule). `memory`, when given, is of passes
    /// over the same forward values in the same graph: what it holds is not computed again, and it takes what is.
    /// Rules, graph, sink and memory must outlive this.
    TensorArithmetic(execute::SavedValues saved, const RuleAssignment& rules, const TraversalGraph& graph,
                     event::Sink& sink, bool audit, PassMemory* memory = nullptr);

    /// A handle for a tensor from outside (the start relevance).
    [[nodiscard]] HandleId adopt(Tensor tensor);
    /// The tensor of a live handle.
    [[nodiscard]] const Tensor& tensor(HandleId handle) const;
    /// What every handle that was ever made is, by HandleId.
    [[nodiscard]] const std::vector<HandleOrigin>& origins() const { return m_origins; }

    [[nodiscard]] Role role(NodeId node) const override;
    [[nodiscard]] bool isStrict(NodeId node) const override;
    [[nodiscard]] event::PromiseKind promiseKind(NodeId node) const override;
    [[nodiscard]] bool hasBranch(NodeId node, std::uint32_t slot) const override;
    void beginVisit(std::uint32_t visit) override;
    [[nodiscard]] HandleId sum(NodeId node, std::uint32_t k, std::span<const HandleId> parts) override;
    /// Fetches or recomputes only what the rule reads.
    [[nodiscard]] std::vector<HandleId> applyRule(NodeId node, std::span<const HandleId> relevance,
                                                  std::span<const HandleId> operands) override;
    [[nodiscard]] HandleId ownOutput(NodeId node, std::uint32_t k) override;
    [[nodiscard]] HandleId carryForward(std::span<const NodeId> crossed, HandleId operand) override;
    [[nodiscard]] HandleId forwardOutput(NodeId node, std::span<const HandleId> operands, std::uint32_t k) override;
    [[nodiscard]] HandleId untrackedOperand(NodeId node, std::uint32_t slot) override;
    /// Reports what rounding took from inputs of several readers.
    void finish() override;
    void retain(HandleId handle) override;
    void release(HandleId handle) override;

private:
    struct NodeFacts
    {
        Role role = Role::Arg;
        bool isStrict = false;
        std::vector<std::uint8_t> tracked; // per operand slot
    };
    struct Entry
    {
        Tensor tensor;
        std::uint32_t references = 0;
        double lost = 0; // to rounding when its parts were added
    };
    // Forward outputs that several parents of one promise ask for one after the other.
    struct LastForward
    {
        NodeId node;
        std::vector<HandleId> operands;
        std::vector<Tensor> outputs;
    };

private:
    [[nodiscard]] NodeFacts factsOf(NodeId node, const TraversalGraph& graph) const;
    [[nodiscard]] bool isStrict(NodeId node, std::span<const std::uint8_t> tracked) const;
    [[nodiscard]] bool canAnswer(NodeId node, const TraversalGraph& graph) const;
    [[nodiscard]] bool hasAllOperands(NodeId node) const;
    [[nodiscard]] bool joinsOperands(NodeId node) const;
    [[nodiscard]] bool isData(NodeId node, std::size_t slot) const;
    [[nodiscard]] Tensor operandFor(NodeId node, std::size_t slot, std::span<const HandleId> operands) const;
    [[nodiscard]] std::vector<Tensor> allOperandsFor(NodeId node, std::span<const HandleId> operands) const;
    [[nodiscard]] NodeValues valuesFor(NodeId node, std::span<const HandleId> operands) const;
    [[nodiscard]] PassMemory::Added add(NodeId node, std::uint32_t k, std::vector<Tensor> parts) const;
    /// Handles of what the rule gave, and its row.
    [[nodiscard]] std::vector<HandleId> takeShares(NodeId node, std::vector<Tensor> shares, event::LedgerEntry row);
    /// Forward outputs of a node; without memory an error leaves that names it (ops::forwardOrFail).
    [[nodiscard]] std::vector<Tensor> computed(NodeId node, std::span<const Tensor> operands) const;
    /// Forward output `k` from the memory; invalid when it is not there.
    [[nodiscard]] Tensor remembered(NodeId node, std::uint32_t k) const;
    /// Tells whoever watches what becomes of the outputs of a node.
    void reportOutputs(NodeId node, event::MemoryChoice choice, std::string_view reason) const;
    [[nodiscard]] HandleId valueHandle(NodeId node, std::uint32_t k, Tensor value);
    [[nodiscard]] ValueId valueOf(NodeId node, std::uint32_t k) const;
    [[nodiscard]] HandleId newHandle(Tensor tensor, const HandleOrigin& origin);
    /// What a live handle stands for.
    [[nodiscard]] const Entry& entry(HandleId handle) const;
    [[nodiscard]] HandleOrigin originOf(NodeId node, std::uint32_t k) const;
    [[nodiscard]] const graph::Node& definition(NodeId node) const { return m_saved.model().graph().node(node); }

    execute::SavedValues m_saved;
    const RuleAssignment& m_rules;
    const TraversalGraph& m_graph;
    event::Sink& m_sink;
    bool m_audit;
    PassMemory* m_memory; // null: everything is computed
    std::vector<NodeFacts> m_facts;
    std::vector<Entry> m_entries;
    std::vector<HandleOrigin> m_origins; // by HandleId
    std::uint32_t m_starts = 0;
    InputRows m_inputRows;
    LastForward m_lastForward;
    std::uint32_t m_visit = 0;
};

} // namespace retro::lrp
