// SPDX-License-Identifier: Apache-2.0
#include "tests/core/lrp/symbolicarithmetic.h"

#include <algorithm>
#include <ranges>
#include <utility>

namespace retro::lrptest
{

namespace
{
// First word of a formula: what is done.
enum Word : Formulas::Id { kStart, kForward, kShare, kSum };
} // namespace

SymbolicArithmetic::SymbolicArithmetic(const SpecGraph& spec, const lrp::TraversalGraph& graph,
                                       std::vector<lrp::NodeBehaviour> behaviour, Formulas& formulas)
    : m_spec(spec), m_graph(graph), m_behaviour(std::move(behaviour)), m_formulas(formulas)
{
    for (std::size_t node = 0; node < spec.nodes().size(); ++node) {
        const std::vector<Formulas::Id> operands = ownOperands(NodeId(node));
        std::vector<Formulas::Id> outputs;
        for (std::uint32_t k = 0; k < spec.nodes()[node].outputs; ++k) {
            outputs.push_back(forwardFormula(node, k, operands));
        }
        m_forward.push_back(std::move(outputs));
    }
}

HandleId SymbolicArithmetic::start(std::size_t root)
{
    return newHandle(m_formulas.number({kStart, static_cast<Formulas::Id>(root)}));
}

std::vector<HandleId> SymbolicArithmetic::starts()
{
    std::vector<HandleId> all;
    for (std::size_t root = 0; root < m_graph.roots().size(); ++root) {
        all.push_back(start(root));
    }
    return all;
}

Formulas::Id SymbolicArithmetic::formula(HandleId handle) const
{
    return handle.isValid() ? m_entries[handle.index()].formula : kNothing;
}

std::vector<std::vector<Formulas::Id>> SymbolicArithmetic::oracle()
{
    std::vector<std::vector<Formulas::Id>> relevance(m_graph.size());
    std::vector<Formulas::Id> parts(m_graph.inEdgeCount(), kNothing);
    for (std::size_t i = 0; i < m_graph.roots().size(); ++i) {
        const lrp::Root& root = m_graph.roots()[i];
        parts[m_graph.firstInEdge(root.node) + root.inEdge] = m_formulas.number({kStart, static_cast<Formulas::Id>(i)});
    }
    for (const NodeId node : std::views::reverse(m_graph.postOrder())) {
        std::vector<std::vector<Formulas::Id>> perOutput(m_graph.outputCount(node));
        for (std::size_t edge = 0; edge < m_graph.inEdges(node).size(); ++edge) {
            perOutput[m_graph.inEdges(node)[edge].output].push_back(parts[m_graph.firstInEdge(node) + edge]);
        }
        std::vector<Formulas::Id>& arrived = relevance[node.index()];
        for (const std::vector<Formulas::Id>& landed : perOutput) {
            arrived.push_back(landed.empty() ? kNothing : sumFormula(landed));
        }
        const std::span<const lrp::ChildSlot> children = m_graph.children(node);
        for (std::uint32_t slot = 0; slot < children.size(); ++slot) {
            if (children[slot].child.isValid()) {
                parts[m_graph.firstInEdge(children[slot].child) + children[slot].inEdge] =
                    shareFormula(node, slot, arrived, ownOperands(node));
            }
        }
    }
    return relevance;
}

std::size_t SymbolicArithmetic::liveHandles() const
{
    return static_cast<std::size_t>(
        std::count_if(m_entries.begin(), m_entries.end(), [](const Entry& entry) { return entry.references > 0; }));
}

HandleId SymbolicArithmetic::sum(NodeId, std::uint32_t, std::span<const HandleId> parts)
{
    if (parts.size() == 1) {
        retain(parts.front());
        return parts.front();
    }
    std::vector<Formulas::Id> formulas;
    for (const HandleId part : parts) {
        formulas.push_back(formula(part));
    }
    return newHandle(sumFormula(formulas));
}

std::vector<HandleId> SymbolicArithmetic::applyRule(NodeId node, std::span<const HandleId> relevance,
                                                    std::span<const HandleId> operands)
{
    if (!m_applied.insert(node.value).second) {
        m_complaint = "rule applied twice at " + m_spec.node(node).id;
    }
    if (isStrict(node) && operands.empty()) {
        m_complaint = "strict rule without operands at " + m_spec.node(node).id;
    }
    const std::vector<Formulas::Id> values = operands.empty() ? ownOperands(node) : operandFormulas(node, operands);
    std::vector<Formulas::Id> arrived;
    for (const HandleId handle : relevance) {
        arrived.push_back(formula(handle));
    }
    std::vector<HandleId> shares;
    for (std::uint32_t slot = 0; slot < m_graph.children(node).size(); ++slot) {
        const bool tracked = m_graph.children(node)[slot].child.isValid();
        shares.push_back(tracked ? newHandle(shareFormula(node, slot, arrived, values)) : HandleId());
    }
    return shares;
}

HandleId SymbolicArithmetic::ownOutput(NodeId node, std::uint32_t k) { return newHandle(m_forward[node.index()][k]); }

HandleId SymbolicArithmetic::carryForward(std::span<const NodeId> crossed, HandleId operand)
{
    Formulas::Id value = formula(operand);
    for (const NodeId node : crossed) {
        std::vector<Formulas::Id> operands = ownOperands(node);
        for (std::size_t slot = 0; slot < operands.size(); ++slot) {
            operands[slot] = m_graph.children(node)[slot].child.isValid() ? value : operands[slot];
        }
        value = forwardFormula(node.index(), 0, operands);
    }
    return newHandle(value);
}

HandleId SymbolicArithmetic::forwardOutput(NodeId node, std::span<const HandleId> operands, std::uint32_t k)
{
    return newHandle(forwardFormula(node.index(), k, operandFormulas(node, operands)));
}

HandleId SymbolicArithmetic::untrackedOperand(NodeId node, std::uint32_t slot)
{
    return newHandle(ownOperands(node)[slot]);
}

void SymbolicArithmetic::retain(HandleId handle)
{
    if (m_entries[handle.index()].references++ <= 0) {
        m_complaint = "retained after its release";
    }
}

void SymbolicArithmetic::release(HandleId handle)
{
    if (m_entries[handle.index()].references-- <= 0) {
        m_complaint = "released twice";
    }
}

HandleId SymbolicArithmetic::newHandle(Formulas::Id formula)
{
    m_entries.push_back({formula, 1});
    return HandleId(m_entries.size() - 1);
}

Formulas::Id SymbolicArithmetic::forwardFormula(std::size_t node, std::uint32_t k,
                                                const std::vector<Formulas::Id>& operands)
{
    std::vector<Formulas::Id> words{kForward, static_cast<Formulas::Id>(node), k};
    words.insert(words.end(), operands.begin(), operands.end());
    return m_formulas.number(words);
}

std::vector<Formulas::Id> SymbolicArithmetic::ownOperands(NodeId node) const
{
    std::vector<Formulas::Id> operands;
    for (const SpecOperand& operand : m_spec.node(node).operands) {
        operands.push_back(m_forward[operand.node][operand.output]);
    }
    return operands;
}

Formulas::Id SymbolicArithmetic::shareFormula(NodeId node, std::uint32_t slot,
                                              const std::vector<Formulas::Id>& relevance,
                                              const std::vector<Formulas::Id>& operands)
{
    std::vector<Formulas::Id> words{kShare, node.value, slot};
    words.insert(words.end(), relevance.begin(), relevance.end());
    if (m_spec.readsOperands(node)) {
        words.insert(words.end(), operands.begin(), operands.end());
    }
    return m_formulas.number(words);
}

Formulas::Id SymbolicArithmetic::sumFormula(const std::vector<Formulas::Id>& parts)
{
    if (parts.size() == 1) {
        return parts.front();
    }
    std::vector<Formulas::Id> words{kSum};
    words.insert(words.end(), parts.begin(), parts.end());
    return m_formulas.number(words);
}

// Reconstructed operands; the node knows the untracked ones.
std::vector<Formulas::Id> SymbolicArithmetic::operandFormulas(NodeId node, std::span<const HandleId> operands)
{
    std::vector<Formulas::Id> formulas = ownOperands(node);
    for (std::size_t slot = 0; slot < operands.size(); ++slot) {
        if (!operands[slot].isValid()) {
            if (m_graph.children(node)[slot].child.isValid()) {
                m_complaint = "tracked operand missing at " + m_spec.node(node).id;
            }
            continue;
        }
        if (m_entries[operands[slot].index()].references <= 0) {
            m_complaint = "used after its release";
        }
        formulas[slot] = formula(operands[slot]);
    }
    return formulas;
}

} // namespace retro::lrptest
