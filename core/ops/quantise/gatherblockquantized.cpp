// SPDX-License-Identifier: Apache-2.0
#include "core/ops/quantise/gatherblockquantized.h"

#include "core/ops/bind/bindcheck.h"
#include "core/ops/bind/operatorbase.h"
#include "core/ops/kernel/filled.h"
#include "core/tensor/checkedshape.h"

#include <fmt/format.h>

#include <array>
#include <memory>
#include <utility>
#include <vector>

namespace retro::ops
{

namespace
{

using tensor::DType;
using tensor::Shape;

constexpr std::int64_t kMostGatheredBlock = 1 << 20;

struct BlockSlot
{
    enum : std::size_t { kData = 0, kIndices = 1, kScales = 2, kZeroPoints = 3 };
};

/// How the rows of a table of com.microsoft's GatherBlockQuantized lie: levels in blocks along one axis, each with a
/// scale.
struct BlockTable
{
    Shape shape; ///< of the table that the levels stand for
    Shape scales;
    std::size_t gatherAxis = 0;
    std::size_t blockAxis = 0;
    std::int64_t block = 128;
    std::int64_t bits = 4;
    bool isPacked = false; ///< several levels in a byte, along the last axis, low bits first
};

/// (level − zero)·scale of every element.
class BlockLevels
{
public:
    BlockLevels(const BlockTable& table, std::span<const Tensor> constants)
        : m_table(table), m_data(constants[BlockSlot::kData].to(DType::Float64).contiguous()),
          m_scales(constants[BlockSlot::kScales].to(DType::Float64).contiguous())
    {
        if (constants.size() > BlockSlot::kZeroPoints && constants[BlockSlot::kZeroPoints].isValid()) {
            m_zeros = constants[BlockSlot::kZeroPoints].to(DType::Float64).contiguous();
        }
        m_usualZero =
            constants[BlockSlot::kData].dtype() == DType::UInt8 ? static_cast<double>(1LL << (table.bits - 1)) : 0;
    }

    [[nodiscard]] Tensor widened(DType type) const
    {
        return filled(type, m_table.shape, [&](auto* out) {
            using T = std::decay_t<decltype(*out)>;
            const std::int64_t count = tensor::elementCount(m_table.shape);
            for (std::int64_t i = 0; i < count; ++i) {
                const std::int64_t at = scaleOf(i);
                const double zero = m_zeros.isValid() ? levelAt(m_zeros, m_table.scales, at) : m_usualZero;
                out[i] = static_cast<T>((levelAt(m_data, m_table.shape, i) - zero) * m_scales.data<double>()[at]);
            }
        });
    }

private:
    /// Level `i` of a tensor of this shape, whose last axis may be packed.
    [[nodiscard]] double levelAt(const Tensor& levels, const Shape& shape, std::int64_t i) const
    {
        if (!m_table.isPacked) {
            return levels.data<double>()[i];
        }
        const std::int64_t row = i / shape.back();
        const std::int64_t column = i % shape.back();
        const std::int64_t bytes = levels.shape().back();
        const std::int64_t bit = column * m_table.bits;
        const auto byte = static_cast<unsigned>(levels.data<double>()[row * bytes + bit / 8]);
        return (byte >> (bit % 8)) & ((1U << m_table.bits) - 1);
    }
    /// The position of the scale of element `i`.
    [[nodiscard]] std::int64_t scaleOf(std::int64_t i) const
    {
        std::int64_t at = 0;
        std::int64_t stride = 1;
        for (std::size_t axis = m_table.shape.size(); axis-- > 0;) {
            const std::int64_t index = i % m_table.shape[axis];
            i /= m_table.shape[axis];
            at += (axis == m_table.blockAxis ? index / m_table.block : index) * stride;
            stride *= m_table.scales[axis];
        }
        return at;
    }

    BlockTable m_table;
    Tensor m_data;
    Tensor m_scales;
    Tensor m_zeros;
    double m_usualZero = 0;
};

base::Result<std::size_t> axisIn(const BindContext& context, const char* name, std::int64_t usual, std::size_t rank)
{
    const auto most = static_cast<std::int64_t>(rank);
    const std::int64_t axis = context.intAttribute(name, usual);
    if (axis < -most || axis >= most) {
        return context.error(fmt::format("{} is {}, but operand 0 has {} axes", name, axis, rank));
    }
    return static_cast<std::size_t>(axis < 0 ? axis + most : axis);
}

base::Result<void> expectBlockOperands(const BindContext& context)
{
    RETRO_CHECK(expect(context, {.least = 3,
                                 .most = 4,
                                 .attributes = {{"bits", AttributeKind::Int},
                                                {"block_size", AttributeKind::Int},
                                                {"gather_axis", AttributeKind::Int},
                                                {"quantize_axis", AttributeKind::Int}}}));
    for (const std::size_t slot : {BlockSlot::kData, BlockSlot::kScales, BlockSlot::kZeroPoints}) {
        if (context.present(slot) && !context.constant(slot)) {
            return context.error(fmt::format("operand {} must be constant", slot));
        }
    }
    const DType type = context.operandTypes[BlockSlot::kData].dtype;
    if (type != DType::UInt8 && type != DType::Int4 && type != DType::UInt4) {
        return context.error(
            fmt::format("the table (operand 0) is {}, but must be uint8, int4 or uint4; dequantise it in the model",
                        tensor::nameOf(type)));
    }
    if (!tensor::isFloating(context.operandTypes[BlockSlot::kScales].dtype)) {
        return context.error("the scales (operand 2) must be floating");
    }
    return {};
}

base::Result<BlockTable> blockTable(const BindContext& context)
{
    BlockTable table;
    table.shape = context.operandTypes[BlockSlot::kData].shape;
    const bool isBytes = context.operandTypes[BlockSlot::kData].dtype == DType::UInt8;
    RETRO_TRY(table.gatherAxis, axisIn(context, "gather_axis", 0, table.shape.size()));
    RETRO_TRY(table.blockAxis, axisIn(context, "quantize_axis", 1, table.shape.size()));
    table.bits = context.intAttribute("bits", 4);
    table.block = context.intAttribute("block_size", 128);
    if ((table.bits != 2 && table.bits != 4 && table.bits != 8) || (!isBytes && table.bits != 4)) {
        return context.error(fmt::format("bits is {}, but must be {}", table.bits, isBytes ? "2, 4 or 8" : "4"));
    }
    const bool isPower = table.block >= 16 && (table.block & (table.block - 1)) == 0;
    if (!isPower || table.block > kMostGatheredBlock) {
        return context.error(
            fmt::format("block_size is {}, but must be a power of two from 16 to {}", table.block, kMostGatheredBlock));
    }
    table.isPacked = isBytes && table.bits < 8;
    if (isBytes && table.gatherAxis != 0) {
        return context.error("gather_axis must be 0 for a table of uint8");
    }
    if (table.isPacked && (table.blockAxis == table.gatherAxis || table.blockAxis + 1 != table.shape.size())) {
        return context.error("quantize_axis must be the last axis of a table whose bytes hold several levels");
    }
    if (table.isPacked) {
        table.shape.back() *= 8 / table.bits;
    }
    RETRO_CHECK(expectSize(context, table.shape));
    return table;
}

/// Scales and zero points have one element per block.
base::Result<void> expectBlocks(const BindContext& context, BlockTable& table)
{
    table.scales = table.shape;
    std::int64_t& blocks = table.scales[table.blockAxis];
    blocks = (blocks + table.block - 1) / table.block;
    if (context.operandTypes[BlockSlot::kScales].shape != table.scales) {
        return context.error(fmt::format("the scales (operand 2) are {}, but must be {}: one per block",
                                         tensor::toText(context.operandTypes[BlockSlot::kScales].shape),
                                         tensor::toText(table.scales)));
    }
    if (context.present(BlockSlot::kZeroPoints)) {
        const TensorType& zeros = context.operandTypes[BlockSlot::kZeroPoints];
        Shape wanted = table.scales;
        if (table.isPacked) {
            wanted.back() = (wanted.back() * table.bits + 7) / 8;
        }
        if (zeros.dtype != context.operandTypes[BlockSlot::kData].dtype || zeros.shape != wanted) {
            return context.error(
                fmt::format("the zero points (operand 3) must be {} of the type of the table", tensor::toText(wanted)));
        }
    }
    return {};
}

/// A Gather in the table, which takes the place of the levels.
class GatherBlockQuantized final : public BoundOperator
{
public:
    GatherBlockQuantized(Tensor table, std::unique_ptr<BoundOperator> gather)
        : m_table(std::move(table)), m_gather(std::move(gather))
    {
        m_outputTypes.assign(m_gather->outputTypes().begin(), m_gather->outputTypes().end());
    }

    [[nodiscard]] std::vector<Tensor> forward(std::span<const Tensor> operands) const override
    {
        return m_gather->forward(std::array{m_table, operands[BlockSlot::kIndices]});
    }
    [[nodiscard]] Reads savedForGradient() const override { return Reads::nothing(); }
    [[nodiscard]] const Structure& structure() const override { return noRelevance(); }

private:
    Tensor m_table;
    std::unique_ptr<BoundOperator> m_gather;
};

} // namespace

base::Result<GatheredTable> gatheredTable(const BindContext& context, DType type, std::uint64_t most)
{
    RETRO_CHECK(expectBlockOperands(context));
    RETRO_TRY(BlockTable table, blockTable(context));
    RETRO_CHECK(expectBlocks(context, table));
    if (!tensor::checkedBytes(table.shape, type, most).ok()) {
        return context.error("its table is too large to be widened");
    }
    return GatheredTable{BlockLevels(table, context.constants).widened(type),
                         static_cast<std::int64_t>(table.gatherAxis)};
}

BoundResult bindGatherBlockQuantized(const BindContext& context)
{
    RETRO_TRY(GatheredTable table, gatheredTable(context, context.floatType, kMaxElements));
    graph::Node node = context.node;
    node.domain.clear();
    node.op = "Gather";
    node.opset = kNewestOpset;
    node.attributes = {{"axis", table.axis}};
    const graph::ValueId made(context.graph.valueCount()); // not what the graph stores there
    node.inputs = {made, node.inputs[BlockSlot::kIndices]};
    const std::vector<TensorType> types{{context.floatType, table.table.shape()},
                                        context.operandTypes[BlockSlot::kIndices]};
    const std::vector<Tensor> constants{table.table, context.constants[BlockSlot::kIndices]};
    RETRO_TRY(auto gather,
              bind({context.graph, context.id, node, types, constants, context.floatType, context.source}));
    return bound<GatherBlockQuantized>(std::move(table.table), std::move(gather));
}

} // namespace retro::ops
