// SPDX-License-Identifier: Apache-2.0
#include "core/ops/writtenoperator.h"

#include "core/ops/registry.h"

namespace retro::ops
{

namespace
{

using graph::Graph;
using graph::Node;
using graph::ValueId;
using graph::ValueKind;

std::vector<std::size_t> slotsOfOperands(const Node& node)
{
    std::vector<std::size_t> slots;
    for (std::size_t slot = 0; slot < node.inputs.size(); ++slot) {
        if (node.inputs[slot].isValid()) {
            slots.push_back(slot);
        }
    }
    return slots;
}

/// Nodes of a graph, bound one by one; operand `slots[i]` is input i.
class WrittenNodes
{
public:
    WrittenNodes(std::shared_ptr<const Graph> graph, std::vector<std::size_t> slots, tensor::DType floats)
        : m_graph(std::move(graph)), m_slots(std::move(slots)), m_constants(m_graph->valueCount()),
          m_types(m_graph->valueCount()), m_lastRead(m_graph->valueCount(), 0)
    {
        for (std::size_t i = 0; i < m_constants.size(); ++i) {
            const graph::Value& value = m_graph->value(ValueId(i));
            if (value.kind == ValueKind::Constant) {
                m_constants[i] = tensor::isFloating(value.dtype) ? value.constant.to(floats) : value.constant;
                m_types[i] = {m_constants[i].dtype(), m_constants[i].shape()};
            }
        }
    }

    base::Result<void> bindAll(const BindContext& context)
    {
        for (std::size_t i = 0; i < m_slots.size(); ++i) {
            const std::size_t input = m_graph->inputs()[i].index();
            m_types[input] = context.operandTypes[m_slots[i]];
            m_constants[input] = context.constant(m_slots[i]) ? context.constants[m_slots[i]] : Tensor();
        }
        for (std::size_t i = 0; i < m_graph->nodeCount(); ++i) {
            RETRO_CHECK(bindOne(context, graph::NodeId(i)));
        }
        return {};
    }

    [[nodiscard]] const TensorType& resultType() const { return m_types[m_graph->outputs()[0].index()]; }

    [[nodiscard]] Tensor run(std::span<const Tensor> given) const
    {
        std::vector<Tensor> values = m_constants;
        for (std::size_t i = 0; i < m_slots.size(); ++i) {
            values[m_graph->inputs()[i].index()] = given[m_slots[i]];
        }
        for (std::size_t i = 0; i < m_steps.size(); ++i) {
            const Node& node = m_graph->nodes()[i];
            std::vector<Tensor> operands = gathered<Tensor>(node, values);
            for (const ValueId input : node.inputs) {
                if (input.isValid() && m_lastRead[input.index()] == i) {
                    values[input.index()] = Tensor(); // nobody reads it again
                }
            }
            values[node.outputs[0].index()] = m_steps[i]->runOver(operands)[0];
        }
        return values[m_graph->outputs()[0].index()];
    }

private:
    template <class T>
    [[nodiscard]] static std::vector<T> gathered(const Node& node, const std::vector<T>& byValue)
    {
        std::vector<T> own(node.inputs.size());
        for (std::size_t slot = 0; slot < own.size(); ++slot) {
            own[slot] = node.inputs[slot].isValid() ? byValue[node.inputs[slot].index()] : T();
        }
        return own;
    }

    base::Result<void> bindOne(const BindContext& context, graph::NodeId id)
    {
        const Node& node = m_graph->node(id);
        std::vector<tensor::DType> numbers;
        for (const ValueId input : node.inputs) {
            numbers.push_back(input.isValid() ? m_graph->value(input).dtype : tensor::DType::Bool);
            if (input.isValid()) {
                m_lastRead[input.index()] = id.index();
            }
        }
        RETRO_TRY(auto step,
                  bind({*m_graph, id, node, gathered(node, m_types), gathered(node, m_constants), context.floatType,
                        nullptr, context.numbers.empty() ? std::span<const tensor::DType>() : numbers}));
        m_types[node.outputs[0].index()] = step->outputTypes()[0];
        m_steps.push_back(std::move(step));
        return {};
    }

    std::shared_ptr<const Graph> m_graph;
    std::vector<std::size_t> m_slots;
    std::vector<Tensor> m_constants; ///< per value; invalid for others
    std::vector<TensorType> m_types; ///< per value
    std::vector<std::size_t> m_lastRead;
    std::vector<std::unique_ptr<BoundOperator>> m_steps; ///< per node
};

class WrittenOperator final : public BoundOperator
{
public:
    WrittenOperator(std::unique_ptr<BoundOperator> function, WrittenNodes nodes)
        : m_function(std::move(function)), m_nodes(std::move(nodes))
    {
        m_outputTypes = {m_function->outputTypes().front()};
    }
    [[nodiscard]] std::vector<Tensor> forward(std::span<const Tensor> operands) const override
    {
        return {m_nodes.run(operands)};
    }
    [[nodiscard]] Reads savedForGradient() const override { return m_function->savedForGradient(); }
    [[nodiscard]] const Structure& structure() const override { return m_function->structure(); }
    [[nodiscard]] double flops() const override { return m_function->flops(); }

private:
    std::unique_ptr<BoundOperator> m_function;
    WrittenNodes m_nodes;
};

} // namespace

BoundResult bindWritten(const BindContext& context, std::unique_ptr<BoundOperator> function)
{
    std::vector<std::size_t> slots = slotsOfOperands(context.node);
    if (slots.size() != context.node.written->inputs().size() || context.node.outputs.size() != 1) {
        return context.error("the nodes that were recognised as it read other values; switch the rewrite off");
    }
    WrittenNodes nodes(context.node.written, std::move(slots), context.floatType);
    RETRO_CHECK(nodes.bindAll(context));
    if (function->outputTypes().front() != nodes.resultType()) {
        return context.error("the nodes that were recognised as it make another type; switch the rewrite off");
    }
    return bound<WrittenOperator>(std::move(function), std::move(nodes));
}

} // namespace retro::ops
