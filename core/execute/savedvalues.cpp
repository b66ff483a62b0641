// SPDX-License-Identifier: Apache-2.0
#include "core/execute/savedvalues.h"

namespace retro::execute
{

namespace
{

constexpr ops::Reads kEverything{~0ULL, ~0ULL};

bool hasTrackedOutput(const BoundModel& model, const graph::Node& node)
{
    for (const ValueId output : node.outputs) {
        if (output.isValid() && model.isTracked(output)) {
            return true;
        }
    }
    return false;
}

// Operands that carry no relevance and are not constants: nothing below them can be asked for their value.
std::uint64_t untrackedOperands(const BoundModel& model, const graph::Node& node)
{
    std::uint64_t bits = 0;
    for (std::size_t slot = 0; slot < node.inputs.size(); ++slot) {
        const ValueId value = node.inputs[slot];
        if (value.isValid() && !model.isTracked(value) && !model.isConstant(value)) {
            bits |= ops::Reads::bit(slot);
        }
    }
    return bits;
}

ops::Reads readsOf(const BoundModel& model, NodeId id, SavePolicy policy)
{
    if (policy == SavePolicy::All) {
        return kEverything;
    }
    if (policy == SavePolicy::Nothing) {
        return ops::Reads::nothing();
    }
    if (model.graph().isInput(id)) {
        return ops::Reads::firstOutput();
    }
    const graph::Node& node = model.graph().node(id);
    if (!hasTrackedOutput(model, node)) {
        return ops::Reads::nothing();
    }
    ops::Reads reads = model.op(id).savedForGradient();
    reads.operands |= untrackedOperands(model, node);
    return reads;
}

std::uint64_t keptAmong(const std::vector<bool>& kept, std::span<const ValueId> values)
{
    constexpr std::uint64_t kRest = ops::Reads::bit(63); // stands for several
    std::uint64_t bits = ~std::uint64_t{0};
    for (std::size_t i = 0; i < values.size(); ++i) {
        if (values[i].isValid() && !kept[values[i].index()]) {
            bits &= ~ops::Reads::bit(i);
        }
    }
    return values.size() > 63 ? bits : bits | kRest;
}

void mark(std::vector<bool>& kept, std::span<const ValueId> values, std::uint64_t bits)
{
    for (std::size_t i = 0; i < values.size(); ++i) {
        if (values[i].isValid() && (bits & ops::Reads::bit(i)) != 0) {
            kept[values[i].index()] = true;
        }
    }
}

} // namespace

SavePlan::SavePlan(const BoundModel& model, SavePolicy policy)
    : m_policy(policy), m_reads(model.graph().runNodeCount()), m_kept(model.graph().valueCount(), false)
{
    const graph::Graph& graph = model.graph();
    for (std::size_t i = 0; i < m_reads.size(); ++i) {
        const NodeId id{i};
        const ops::Reads reads = readsOf(model, id, policy);
        m_reads[i] = reads;
        if (!graph.isInput(id)) {
            mark(m_kept, graph.node(id).inputs, reads.operands);
        }
        mark(m_kept, graph.outputsOf(id), reads.outputs);
    }
}

SavePlan::SavePlan(const BoundModel& model, std::span<const ValueId> kept)
    : m_policy(SavePolicy::Plan), m_reads(model.graph().runNodeCount()), m_kept(model.graph().valueCount(), false)
{
    const graph::Graph& graph = model.graph();
    for (const ValueId value : kept) {
        m_kept[value.index()] = true;
    }
    for (const ValueId input : graph.inputs()) {
        m_kept[input.index()] = true;
    }
    for (std::size_t i = 0; i < m_reads.size(); ++i) {
        const NodeId id{i};
        m_reads[i].outputs = keptAmong(m_kept, graph.outputsOf(id));
        if (!graph.isInput(id)) {
            const graph::Node& node = graph.node(id);
            m_reads[i].operands = keptAmong(m_kept, node.inputs) | untrackedOperands(model, node);
        }
    }
}

std::string_view nameOf(SavePolicy policy)
{
    switch (policy) {
    case SavePolicy::Autograd:
        return "autograd";
    case SavePolicy::All:
        return "all";
    case SavePolicy::Nothing:
        return "nothing";
    case SavePolicy::Plan:
        return "plan";
    }
    return "";
}

Tensor SavedValues::operand(NodeId node, std::size_t slot) const
{
    if (!hasOperand(node, slot)) {
        return {};
    }
    const ValueId value = m_model->graph().node(node).inputs[slot];
    return m_model->isConstant(value) ? m_model->constant(value) : m_store->get(value);
}

Tensor SavedValues::output(NodeId node, std::size_t k) const
{
    return hasOutput(node, k) ? m_store->get(m_model->graph().outputsOf(node)[k]) : Tensor();
}

bool SavedValues::hasOperand(NodeId node, std::size_t slot) const
{
    const graph::Graph& graph = m_model->graph();
    if (graph.isInput(node) || slot >= graph.node(node).inputs.size()) {
        return false;
    }
    const ValueId value = graph.node(node).inputs[slot];
    return value.isValid() && (m_model->isConstant(value) || m_plan->of(node).operand(slot));
}

bool SavedValues::hasOutput(NodeId node, std::size_t k) const
{
    const std::span<const ValueId> outputs = m_model->graph().outputsOf(node);
    return k < outputs.size() && outputs[k].isValid() && m_plan->of(node).output(k);
}

Tensor SavedValues::anyValue(ValueId value) const
{
    return m_model->isConstant(value) ? m_model->constant(value) : m_store->kept(value);
}

} // namespace retro::execute
