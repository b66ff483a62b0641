// SPDX-License-Identifier: Apache-2.0
#include "core/ops/writtenoperator.h"

#include "core/ops/attention/attentioncore.h"
#include "core/ops/kernel/slices.h"
#include "core/ops/registry.h"
#include "core/ops/threads.h"

#include <algorithm>
#include <cstring>
#include <optional>

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

    /// `types` per operand slot; `isWhole`: they are those of the operands, so that constants among them are known.
    base::Result<void> bindAll(const BindContext& context, std::span<const TensorType> types, bool isWhole)
    {
        for (std::size_t i = 0; i < m_slots.size(); ++i) {
            const std::size_t input = m_graph->inputs()[i].index();
            m_types[input] = types[m_slots[i]];
            m_constants[input] = isWhole && context.constant(m_slots[i]) ? context.constants[m_slots[i]] : Tensor();
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
        if (const std::vector<Tensor> known = step->knownResults(); !known.empty()) {
            m_constants[node.outputs[0].index()] = known[0]; // a shape
        }
        m_steps.push_back(std::move(step));
        return {};
    }

    std::shared_ptr<const Graph> m_graph;
    std::vector<std::size_t> m_slots;
    std::vector<Tensor> m_constants; ///< per value; invalid for others
    std::vector<TensorType> m_types; ///< per value
    std::vector<std::size_t> m_lastRead;
    std::vector<std::shared_ptr<const BoundOperator>> m_steps; ///< per node
};

/// Some queries of one head of one image, of all heads of all images.
struct QueryRows
{
    std::int64_t head = 0;
    std::int64_t first = 0;
    std::int64_t count = 0;
};

/// The nodes of attention whose scores are large, some queries of one head at a time.
class AttentionPieces
{
public:
    /// Nothing where the scores are small, or the nodes do not go by rows; then all is computed at once. `nodes` are
    /// not bound yet.
    [[nodiscard]] static std::optional<AttentionPieces> of(const BindContext& context, const WrittenNodes& nodes,
                                                           const TensorType& result)
    {
        const std::span<const TensorType> types = context.operandTypes;
        const std::size_t rank = result.shape.size();
        const bool isByRow = std::ranges::none_of(context.node.written->nodes(), [](const Node& node) {
            return node.op.starts_with("Reduce"); // may be over more than a row
        });
        if (context.node.op != "Attention" || rank < 3 || types[1].shape.size() != rank || !isByRow) {
            return std::nullopt;
        }
        const std::int64_t keys = std::max<std::int64_t>(types[1].shape[rank - 2], 1);
        const auto rowBytes = keys * static_cast<std::int64_t>(tensor::sizeOf(result.dtype));
        AttentionPieces pieces(
            nodes, result,
            std::clamp<std::int64_t>(kPieceBytes / rowBytes, 1, std::max<std::int64_t>(result.shape[rank - 2], 1)));
        const bool isLarge = pieces.m_heads * result.shape[rank - 2] > kMostScoreBytes / rowBytes;
        return isLarge && pieces.bindAll(context) ? std::optional(std::move(pieces)) : std::nullopt;
    }

    [[nodiscard]] Tensor run(std::span<const Tensor> operands) const
    {
        const std::int64_t width = m_result.shape.back() * static_cast<std::int64_t>(tensor::sizeOf(m_result.dtype));
        const std::int64_t pieces = (m_queries + m_together - 1) / m_together;
        tensor::TensorBuffer buffer(m_result.dtype, m_result.shape);
        std::byte* const out = buffer.rawData();
        parallelFor(m_heads * pieces, 1, [&](std::int64_t begin, std::int64_t end) {
            for (std::int64_t i = begin; i < end; ++i) {
                const std::int64_t first = i % pieces * m_together;
                const QueryRows rows{i / pieces, first, std::min(m_together, m_queries - first)};
                std::vector<Tensor> own(operands.size());
                for (std::size_t slot = 0; slot < own.size(); ++slot) {
                    own[slot] = operands[slot].isValid() ? partOf(operands[slot], slot, rows) : Tensor();
                }
                const Tensor y = (rows.count == m_together ? m_nodes : m_last).run(own).contiguous();
                std::memcpy(out + (rows.head * m_queries + first) * width, y.rawData(),
                            static_cast<std::size_t>(y.bytes()));
            }
        });
        return std::move(buffer).freeze();
    }

private:
    AttentionPieces(const WrittenNodes& nodes, const TensorType& result, std::int64_t together)
        : m_nodes(nodes), m_last(nodes), m_result(result), m_together(together),
          m_queries(result.shape[result.shape.size() - 2])
    {
        for (std::size_t axis = 0; axis + 2 < result.shape.size(); ++axis) {
            m_heads *= result.shape[axis];
        }
    }

    bool bindAll(const BindContext& context)
    {
        const std::int64_t last = m_queries % m_together;
        return bindFor(context, m_nodes, m_together) && (last == 0 || bindFor(context, m_last, last));
    }

    /// False where the nodes do not make a piece of the result of pieces of the operands.
    bool bindFor(const BindContext& context, WrittenNodes& nodes, std::int64_t count) const
    {
        std::vector<TensorType> types(context.operandTypes.begin(), context.operandTypes.end());
        for (std::size_t slot = 0; slot < types.size(); ++slot) {
            for (std::size_t axis = 0; axis + 2 < m_result.shape.size(); ++axis) {
                if (const auto own = axisOf(types[slot].shape, axis)) {
                    types[slot].shape[*own] = 1;
                }
            }
            if (const auto rows = rowsOf(types[slot].shape, slot)) {
                types[slot].shape[*rows] = count;
            }
        }
        TensorType part{m_result.dtype, tensor::Shape(m_result.shape.size(), 1)};
        part.shape[part.shape.size() - 2] = count;
        part.shape.back() = m_result.shape.back();
        return nodes.bindAll(context, types, false).ok() && nodes.resultType() == part;
    }

    /// Where an operand has an axis of the result; axes are counted from the back.
    [[nodiscard]] std::optional<std::size_t> axisOf(const tensor::Shape& shape, std::size_t axis) const
    {
        const std::size_t missing = m_result.shape.size() - std::min(m_result.shape.size(), shape.size());
        return axis < missing ? std::nullopt : std::optional(axis - missing);
    }

    /// Where an operand has the queries: the queries themselves, and a mask that differs by query.
    [[nodiscard]] std::optional<std::size_t> rowsOf(const tensor::Shape& shape, std::size_t slot) const
    {
        constexpr std::size_t kMask = 3;
        const std::optional<std::size_t> own =
            slot == 0 || slot == kMask ? axisOf(shape, m_result.shape.size() - 2) : std::nullopt;
        return own && shape[*own] == m_queries ? own : std::nullopt;
    }

    [[nodiscard]] Tensor partOf(const Tensor& operand, std::size_t slot, const QueryRows& rows) const
    {
        Tensor part = operand;
        std::int64_t head = rows.head;
        for (std::size_t axis = m_result.shape.size() - 2; axis-- > 0;) {
            if (const auto own = axisOf(operand.shape(), axis)) {
                part = slice(part, *own, operand.shape()[*own] == 1 ? 0 : head % m_result.shape[axis], 1);
            }
            head /= m_result.shape[axis];
        }
        if (const auto own = rowsOf(operand.shape(), slot)) {
            part = slice(part, *own, rows.first, rows.count);
        }
        return part.contiguous();
    }

    WrittenNodes m_nodes;
    WrittenNodes m_last; ///< of the last rows of a head, which are fewer
    TensorType m_result;
    std::int64_t m_together; ///< queries of a piece
    std::int64_t m_queries;
    std::int64_t m_heads = 1; ///< of all images
};

class WrittenOperator final : public BoundOperator
{
public:
    WrittenOperator(std::unique_ptr<BoundOperator> function, WrittenNodes nodes, std::optional<AttentionPieces> pieces)
        : m_function(std::move(function)), m_nodes(std::move(nodes)), m_pieces(std::move(pieces))
    {
        m_outputTypes = {m_function->outputTypes().front()};
    }
    [[nodiscard]] std::vector<Tensor> forward(std::span<const Tensor> operands) const override
    {
        return {m_pieces ? m_pieces->run(operands) : m_nodes.run(operands)};
    }
    [[nodiscard]] Reads savedForGradient() const override { return m_function->savedForGradient(); }
    [[nodiscard]] const Structure& structure() const override { return m_function->structure(); }
    [[nodiscard]] double flops() const override { return m_function->flops(); }

private:
    std::unique_ptr<BoundOperator> m_function;
    WrittenNodes m_nodes;
    std::optional<AttentionPieces> m_pieces;
};

} // namespace

BoundResult bindWritten(const BindContext& context, std::unique_ptr<BoundOperator> function)
{
    std::vector<std::size_t> slots = slotsOfOperands(context.node);
    if (slots.size() != context.node.written->inputs().size() || context.node.outputs.size() != 1) {
        return context.error("the nodes that were recognised as it read other values; switch the rewrite off");
    }
    WrittenNodes nodes(context.node.written, std::move(slots), context.floatType);
    std::optional<AttentionPieces> pieces = AttentionPieces::of(context, nodes, function->outputTypes().front());
    RETRO_CHECK(nodes.bindAll(context, context.operandTypes, true));
    if (function->outputTypes().front() != nodes.resultType()) {
        return context.error("the nodes that were recognised as it make another type; switch the rewrite off");
    }
    return bound<WrittenOperator>(std::move(function), std::move(nodes), std::move(pieces));
}

} // namespace retro::ops
