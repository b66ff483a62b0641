// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/lrp/arithmetic/arithmetic.h"
#include "tests/core/lrp/specgraph.h"

#include <map>
#include <set>
#include <vector>

namespace retro::lrptest
{

using base::HandleId;

/// A number for each different formula over the values of a graph: two formulas have one number exactly when they apply
/// the same operations to the same things in the same order, and then they also give the same bits.
class Formulas
{
public:
    using Id = std::uint32_t;
    /// Number of `words` (what is done, then the numbers of the formulas it is done to).
    Id number(const std::vector<Id>& words)
    {
        return m_numbers.emplace(words, static_cast<Id>(m_numbers.size())).first->second;
    }

private:
    std::map<std::vector<Id>, Id> m_numbers;
};

/// Arithmetic on formulas instead of tensors. Counts references and complains about handles used after their release.
class SymbolicArithmetic final : public lrp::Arithmetic
{
public:
    SymbolicArithmetic(const SpecGraph& spec, const lrp::TraversalGraph& graph,
                       std::vector<lrp::NodeBehaviour> behaviour, Formulas& formulas);

    /// The start relevance of a root, as a new handle.
    [[nodiscard]] HandleId start(std::size_t root = 0);
    /// That of every root.
    [[nodiscard]] std::vector<HandleId> starts();
    [[nodiscard]] Formulas::Id formula(HandleId handle) const;
    /// Relevance of (node, output) by a plain backward loop: parts summed in in-edge order, every value at hand.
    [[nodiscard]] std::vector<std::vector<Formulas::Id>> oracle();
    /// Handles that still have references.
    [[nodiscard]] std::size_t liveHandles() const;
    /// What went wrong: released twice, used after release, rule applied twice; empty when all is well.
    [[nodiscard]] const std::string& complaint() const { return m_complaint; }
    static constexpr Formulas::Id kNothing = 0xffffffffU;

    [[nodiscard]] lrp::Role role(NodeId node) const override { return m_behaviour[node.index()].role; }
    [[nodiscard]] bool isStrict(NodeId node) const override { return m_behaviour[node.index()].isStrict; }
    [[nodiscard]] event::PromiseKind promiseKind(NodeId node) const override { return m_behaviour[node.index()].kind; }
    [[nodiscard]] bool hasBranch(NodeId, std::uint32_t) const override { return true; }
    void beginVisit(std::uint32_t) override {}
    [[nodiscard]] HandleId sum(NodeId node, std::uint32_t k, std::span<const HandleId> parts) override;
    [[nodiscard]] std::vector<HandleId> applyRule(NodeId node, std::span<const HandleId> relevance,
                                                  std::span<const HandleId> operands) override;
    [[nodiscard]] HandleId ownOutput(NodeId node, std::uint32_t k) override;
    [[nodiscard]] HandleId carryForward(std::span<const NodeId> crossed, HandleId operand) override;
    [[nodiscard]] HandleId forwardOutput(NodeId node, std::span<const HandleId> operands, std::uint32_t k) override;
    [[nodiscard]] HandleId untrackedOperand(NodeId node, std::uint32_t slot) override;
    void retain(HandleId handle) override;
    void release(HandleId handle) override;

private:
    struct Entry
    {
        Formulas::Id formula = 0;
        std::int64_t references = 0;
    };

    [[nodiscard]] HandleId newHandle(Formulas::Id formula);
    [[nodiscard]] Formulas::Id forwardFormula(std::size_t node, std::uint32_t k,
                                              const std::vector<Formulas::Id>& operands);
    [[nodiscard]] std::vector<Formulas::Id> ownOperands(NodeId node) const;
    [[nodiscard]] Formulas::Id shareFormula(NodeId node, std::uint32_t slot, const std::vector<Formulas::Id>& relevance,
                                            const std::vector<Formulas::Id>& operands);
    [[nodiscard]] Formulas::Id sumFormula(const std::vector<Formulas::Id>& parts);
    [[nodiscard]] std::vector<Formulas::Id> operandFormulas(NodeId node, std::span<const HandleId> operands);

    const SpecGraph& m_spec;
    const lrp::TraversalGraph& m_graph;
    std::vector<lrp::NodeBehaviour> m_behaviour;
    Formulas& m_formulas;
    std::vector<std::vector<Formulas::Id>> m_forward; // per node and output
    std::vector<Entry> m_entries;
    std::set<std::uint32_t> m_applied;
    std::string m_complaint;
};

} // namespace retro::lrptest
