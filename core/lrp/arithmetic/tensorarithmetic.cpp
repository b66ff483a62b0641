// SPDX-License-Identifier: Apache-2.0
#include "core/lrp/arithmetic/tensorarithmetic.h"

#include "core/base/failure.h"
#include "core/event/observer.h"
#include "core/lrp/traversal/partsum.h"
#include "core/ops/launchwatch.h"
#include "core/ops/runoperator.h"

#include <algorithm>
#include <utility>

namespace retro::lrp
{

TensorArithmetic::TensorArithmetic(execute::SavedValues saved, const RuleAssignment& rules, const TraversalGraph& graph,
                                   event::Sink& sink, bool audit, PassMemory* memory)
    : m_saved(std::move(saved)), m_rules(rules), m_graph(graph), m_sink(sink), m_audit(audit), m_memory(memory),
      m_facts(graph.size())
{
    for (const NodeId node : graph.postOrder()) {
        m_facts[node.index()] = factsOf(node, graph);
    }
}

HandleId TensorArithmetic::adopt(Tensor tensor)
{
    return newHandle(std::move(tensor), {HandleOrigin::From::Start, {}, m_starts++});
}

const TensorArithmetic::Entry& TensorArithmetic::entry(HandleId handle) const
{
    base::guard(handle.index() < m_entries.size() && m_entries[handle.index()].references > 0,
                "a handle is of a tensor that is still there");
    return m_entries[handle.index()];
}

const Tensor& TensorArithmetic::tensor(HandleId handle) const { return entry(handle).tensor; }

Role TensorArithmetic::role(NodeId node) const { return m_facts[node.index()].role; }

bool TensorArithmetic::isStrict(NodeId node) const { return m_facts[node.index()].isStrict; }

bool TensorArithmetic::hasBranch(NodeId node, std::uint32_t slot) const
{
    return m_facts[node.index()].tracked[slot] != 0 || isData(node, slot);
}

void TensorArithmetic::beginVisit(std::uint32_t visit)
{
    m_visit = visit;
    m_lastForward = {};
}

HandleId TensorArithmetic::sum(NodeId node, std::uint32_t k, std::span<const HandleId> parts)
{
    if (parts.size() == 1) {
        retain(parts.front());
        return parts.front();
    }
    std::vector<Tensor> tensors;
    for (const HandleId part : parts) {
        tensors.push_back(tensor(part));
    }
    const PassMemory::Added added = add(node, k, std::move(tensors));
    const HandleId handle = newHandle(added.total, {HandleOrigin::From::Sum, node, k});
    if (m_graph.children(node).empty()) {
        m_inputRows.add(node, lastReader(m_graph.inEdges(node)), added.lost);
    } else {
        m_entries[handle.index()].lost = added.lost;
    }
    return handle;
}

PassMemory::Added TensorArithmetic::add(NodeId node, std::uint32_t k, std::vector<Tensor> parts) const
{
    std::vector<std::uint8_t> joined = joinedParts(m_graph, node, k);
    const PassMemory::Added* known = m_memory != nullptr ? m_memory->find(node, k, {parts, joined}) : nullptr;
    if (known != nullptr) {
        return *known;
    }
    PassMemory::Added added;
    if (m_memory != nullptr) {
        added.summands = {parts, joined};
    }
    PartSum sum = sumOf(std::move(parts), joined, m_audit);
    added.total = std::move(sum.total);
    added.lost = sum.lost;
    if (m_memory != nullptr) {
        m_memory->keep(node, k, added);
    }
    return added;
}

void TensorArithmetic::finish()
{
    for (const event::LedgerEntry& row : m_inputRows.take(m_visit)) {
        m_sink.onLedger(row);
    }
}

std::vector<HandleId> TensorArithmetic::applyRule(NodeId node, std::span<const HandleId> relevance,
                                                  std::span<const HandleId> operands)
{
    std::vector<Tensor> arrived;
    double lost = 0;
    for (const HandleId handle : relevance) {
        arrived.push_back(handle.isValid() ? tensor(handle) : Tensor());
        lost += handle.isValid() ? m_entries[handle.index()].lost : 0;
    }
    const RulePointer& rule = m_rules[node.index()].rule;
    // The kernels of a table lookup are wanted, not their results alone.
    const bool isWatched = ops::currentLaunchWatcher() != nullptr &&
                           m_saved.model().op(node).structure().kind() == ops::StructureKind::TableLookup;
    const PassMemory::Applied* known =
        m_memory != nullptr && !isWatched ? m_memory->find(node, rule, arrived) : nullptr;
    if (known != nullptr) {
        return takeShares(node, known->shares, known->row);
    }
    event::LedgerEntry row{.node = node.value, .visit = m_visit};
    std::vector<Tensor> shares = lrp::applyRule(m_saved.model(), node, rule, m_facts[node.index()].tracked, arrived,
                                                valuesFor(node, operands), m_audit ? &row : nullptr, lost);
    if (m_memory != nullptr) {
        m_memory->keep(node, {rule, std::move(arrived), shares, row});
    }
    return takeShares(node, std::move(shares), row);
}

std::vector<HandleId> TensorArithmetic::takeShares(NodeId node, std::vector<Tensor> shares, event::LedgerEntry row)
{
    if (m_audit) {
        row.visit = m_visit;
        m_sink.onLedger(row);
    }
    std::vector<HandleId> handles;
    for (std::uint32_t slot = 0; slot < shares.size(); ++slot) {
        handles.push_back(shares[slot].isValid()
                              ? newHandle(std::move(shares[slot]), {HandleOrigin::From::Part, node, slot})
                              : HandleId());
    }
    return handles;
}

HandleId TensorArithmetic::ownOutput(NodeId node, std::uint32_t k)
{
    if (m_saved.hasOutput(node, k)) {
        return newHandle(m_saved.output(node, k), originOf(node, k));
    }
    Tensor known = remembered(node, k);
    if (!known.isValid()) {
        reportOutputs(node, event::MemoryChoice::Recompute, "a promise asks for it where its operands are at hand");
    }
    return valueHandle(node, k, known.isValid() ? std::move(known) : computed(node, allOperandsFor(node, {}))[k]);
}

HandleId TensorArithmetic::carryForward(std::span<const NodeId> crossed, HandleId operand)
{
    if (Tensor known = remembered(crossed.back(), 0); known.isValid()) {
        return valueHandle(crossed.back(), 0, std::move(known));
    }
    Tensor value = tensor(operand);
    reportOutputs(crossed.back(), event::MemoryChoice::Promise, "carried forward from what a promise found");
    for (const NodeId node : crossed) {
        const std::vector<std::uint8_t>& tracked = m_facts[node.index()].tracked;
        std::vector<Tensor> operands(tracked.size());
        for (std::size_t slot = 0; slot < tracked.size(); ++slot) {
            operands[slot] = tracked[slot] != 0 ? value : operandFor(node, slot, {});
        }
        value = std::move(computed(node, operands).front());
    }
    return valueHandle(crossed.back(), 0, std::move(value));
}

HandleId TensorArithmetic::forwardOutput(NodeId node, std::span<const HandleId> operands, std::uint32_t k)
{
    if (Tensor known = remembered(node, k); known.isValid()) {
        return valueHandle(node, k, std::move(known));
    }
    if (m_lastForward.node != node || !std::ranges::equal(m_lastForward.operands, operands)) {
        reportOutputs(node, event::MemoryChoice::Promise, "made of operands that a promise found");
        m_lastForward = {node, {operands.begin(), operands.end()}, computed(node, allOperandsFor(node, operands))};
    }
    return valueHandle(node, k, m_lastForward.outputs[k]);
}

std::vector<Tensor> TensorArithmetic::computed(NodeId node, std::span<const Tensor> operands) const
{
    const event::NodeWatch watch(node);
    std::vector<Tensor> results = ops::forwardOrFail(m_saved.model().op(node), definition(node), operands);
    watch.done(event::Half::Forward, true, m_saved.model().op(node).flops(), results);
    return results;
}

void TensorArithmetic::reportOutputs(NodeId node, event::MemoryChoice choice, std::string_view reason) const
{
    if (event::currentObserver() == nullptr) {
        return;
    }
    for (const ValueId value : m_saved.model().graph().outputsOf(node)) {
        if (value.isValid()) {
            const ops::TensorType& type = m_saved.model().typeOf(value);
            event::tellDecision(
                value, choice, tensor::elementCount(type.shape) * static_cast<std::int64_t>(tensor::sizeOf(type.dtype)),
                reason);
        }
    }
}

Tensor TensorArithmetic::remembered(NodeId node, std::uint32_t k) const
{
    return m_memory != nullptr ? m_memory->value(valueOf(node, k)) : Tensor();
}

HandleId TensorArithmetic::valueHandle(NodeId node, std::uint32_t k, Tensor value)
{
    if (m_memory != nullptr) {
        m_memory->keep(valueOf(node, k), value);
    }
    return newHandle(std::move(value), originOf(node, k));
}

ValueId TensorArithmetic::valueOf(NodeId node, std::uint32_t k) const
{
    return m_saved.model().graph().outputsOf(node)[k];
}

HandleId TensorArithmetic::untrackedOperand(NodeId node, std::uint32_t slot)
{
    return newHandle(operandFor(node, slot, {}), {HandleOrigin::From::Value, {}, definition(node).inputs[slot].value});
}

void TensorArithmetic::retain(HandleId handle)
{
    static_cast<void>(entry(handle));
    ++m_entries[handle.index()].references;
}

void TensorArithmetic::release(HandleId handle)
{
    static_cast<void>(entry(handle));
    Entry& released = m_entries[handle.index()];
    if (--released.references == 0) {
        released.tensor = Tensor();
    }
}

/// Forward output `k` of a node or an input.
HandleOrigin TensorArithmetic::originOf(NodeId node, std::uint32_t k) const
{
    return {HandleOrigin::From::Value, {}, valueOf(node, k).value};
}

HandleId TensorArithmetic::newHandle(Tensor tensor, const HandleOrigin& origin)
{
    base::guard(tensor.isValid(), "a handle gets a tensor");
    const HandleId handle{m_entries.size()};
    m_entries.push_back({std::move(tensor), 1, 0});
    m_origins.push_back(origin);
    m_sink.onTensor(handle, m_entries.back().tensor);
    return handle;
}

/// An operand's value: reconstructed, or what the node kept; invalid for absent operands.
Tensor TensorArithmetic::operandFor(NodeId node, std::size_t slot, std::span<const HandleId> operands) const
{
    if (slot < operands.size() && operands[slot].isValid()) {
        return tensor(operands[slot]);
    }
    return definition(node).inputs[slot].isValid() ? m_saved.operand(node, slot) : Tensor();
}

std::vector<Tensor> TensorArithmetic::allOperandsFor(NodeId node, std::span<const HandleId> operands) const
{
    std::vector<Tensor> values;
    for (std::size_t slot = 0; slot < definition(node).inputs.size(); ++slot) {
        values.push_back(operandFor(node, slot, operands));
    }
    return values;
}

/// What the node's rule reads, and no more: fetching may cost.
NodeValues TensorArithmetic::valuesFor(NodeId node, std::span<const HandleId> operands) const
{
    const ops::BoundOperator& op = m_saved.model().op(node);
    const ops::Reads reads = m_rules[node.index()].rule->reads(op, m_facts[node.index()].tracked);
    NodeValues values{std::vector<Tensor>(definition(node).inputs.size()),
                      std::vector<Tensor>(definition(node).outputs.size())};
    for (std::size_t slot = 0; slot < values.operands.size(); ++slot) {
        values.operands[slot] = reads.operand(slot) ? operandFor(node, slot, operands) : Tensor();
    }
    bool isRecomputed = false;
    for (std::size_t k = 0; k < values.outputs.size(); ++k) {
        if (reads.output(k)) {
            values.outputs[k] = m_saved.output(node, k);
            isRecomputed = isRecomputed || !values.outputs[k].isValid();
        }
    }
    if (isRecomputed) {
        reportOutputs(node, event::MemoryChoice::Recompute, "its own rule reads it and nobody kept it");
        values.outputs = computed(node, allOperandsFor(node, operands));
    }
    return values;
}

} // namespace retro::lrp
