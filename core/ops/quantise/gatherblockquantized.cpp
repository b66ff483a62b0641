// SPDX-License-Identifier: Apache-2.0
#include "core/ops/quantise/gatherblockquantized.h"

#include "core/ops/bind/bindcheck.h"
#include "core/ops/bind/operatorbase.h"
#include "core/ops/kernel/filled.h"
#include "core/ops/kernel/indices.h"
#include "core/ops/linear/storedweight.h"
#include "core/ops/lookup.h"
#include "core/ops/reference/sum.h"
#include "core/tensor/checkedshape.h"

#include <fmt/format.h>

#include <algorithm>
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

/// (level − zero)·scale of every element; levels, scales and zero points stay as they are stored.
class BlockLevels
{
public:
    BlockLevels(BlockTable table, std::span<const Tensor> constants)
        : m_table(std::move(table)), m_data(levelsOf(constants[BlockSlot::kData])),
          m_scales(constants[BlockSlot::kScales].contiguous())
    {
        if (constants.size() > BlockSlot::kZeroPoints && constants[BlockSlot::kZeroPoints].isValid()) {
            m_zeros = levelsOf(constants[BlockSlot::kZeroPoints]);
        }
        m_usualZero =
            constants[BlockSlot::kData].dtype() == DType::UInt8 ? static_cast<double>(1LL << (m_table.bits - 1)) : 0;
    }

    [[nodiscard]] const BlockTable& table() const { return m_table; }

    /// Elements [begin, begin + count) in row-major order.
    template <class T>
    void widen(std::int64_t begin, std::int64_t count, T* to) const
    {
        const bool isAlongRow = m_table.blockAxis + 1 == m_table.shape.size();
        for (std::int64_t i = begin; i < begin + count;) {
            const std::int64_t at = scaleOf(i);
            const double zero = m_zeros.isValid() ? levelAt(m_zeros, m_table.scales, at) : m_usualZero;
            const double scale = m_scales.at(at);
            const std::int64_t inRow = isAlongRow ? i % m_table.shape.back() : 0;
            const std::int64_t together =
                isAlongRow ? std::min(m_table.block - inRow % m_table.block, m_table.shape.back() - inRow) : 1;
            const std::int64_t last = std::min(begin + count, i + together);
            for (; i < last; ++i) {
                *to++ = static_cast<T>((levelAt(m_data, m_table.shape, i) - zero) * scale);
            }
        }
    }

    [[nodiscard]] Tensor widened(DType type) const
    {
        return filled(type, m_table.shape, [&](auto* out) { widen(0, tensor::elementCount(m_table.shape), out); });
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

private:
    /// Bytes as they are; numbers of four bits with a byte each.
    static Tensor levelsOf(const Tensor& levels)
    {
        return levels.dtype() == DType::UInt8 ? levels.contiguous() : levels.to(DType::Int8).contiguous();
    }

    /// Level `i` of a tensor of this shape, whose last axis may be packed.
    [[nodiscard]] double levelAt(const Tensor& levels, const Shape& shape, std::int64_t i) const
    {
        if (levels.dtype() == DType::Int8) {
            return levels.data<std::int8_t>()[i];
        }
        const auto* const bytes = levels.data<std::uint8_t>();
        if (!m_table.isPacked) {
            return bytes[i];
        }
        const std::int64_t row = i / shape.back();
        const std::int64_t bit = i % shape.back() * m_table.bits;
        return (bytes[row * levels.shape().back() + bit / 8] >> (bit % 8)) & ((1 << m_table.bits) - 1);
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

/// Bits and block are of those that are known.
base::Result<void> expectLevels(const BindContext& context, const BlockTable& table, bool isBytes)
{
    if ((table.bits != 2 && table.bits != 4 && table.bits != 8) || (!isBytes && table.bits != 4)) {
        return context.error(fmt::format("bits is {}, but must be {}", table.bits, isBytes ? "2, 4 or 8" : "4"));
    }
    const bool isPower = table.block >= 16 && (table.block & (table.block - 1)) == 0;
    if (!isPower || table.block > kMostGatheredBlock) {
        return context.error(
            fmt::format("block_size is {}, but must be a power of two from 16 to {}", table.block, kMostGatheredBlock));
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
    RETRO_CHECK(expectLevels(context, table, isBytes));
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

base::Result<BlockLevels> blockLevels(const BindContext& context)
{
    RETRO_CHECK(expectBlockOperands(context));
    RETRO_TRY(BlockTable table, blockTable(context));
    RETRO_CHECK(expectBlocks(context, table));
    std::vector<Tensor> constants(context.constants.begin(), context.constants.end());
    constants[BlockSlot::kScales] = storedWeight(context, BlockSlot::kScales);
    return BlockLevels(std::move(table), constants);
}

/// Slices of the table, which are widened as they are picked. An index outside gives zeros. An embedding where the
/// indices are computed.
class GatherBlockQuantized final : public Operator<Lookup>
{
public:
    GatherBlockQuantized(TensorType output, BlockLevels levels, Tensor indices)
        : Operator(std::move(output)), m_levels(std::move(levels)), m_indices(std::move(indices))
    {}

    [[nodiscard]] std::vector<Tensor> forward(std::span<const Tensor> operands) const override
    {
        const AxisView view(m_levels.table().shape, m_levels.table().gatherAxis);
        const std::vector<std::int64_t> indices =
            indicesFrom(m_indices.isValid() ? m_indices : operands[kIndices], view.extent);
        return {filled(m_outputTypes[0].dtype, m_outputTypes[0].shape, [&](auto* to) {
            for (std::int64_t o = 0; o < view.outer; ++o) {
                for (const std::int64_t index : indices) {
                    if (index < 0) {
                        std::fill_n(to, view.inner, 0);
                    } else {
                        m_levels.widen((o * view.extent + index) * view.inner, view.inner, to);
                    }
                    to += view.inner;
                }
            }
        })};
    }
    [[nodiscard]] Reads savedForGradient() const override
    {
        return isEmbedding() ? Reads{Reads::bit(kIndices), 0} : Reads::nothing();
    }
    [[nodiscard]] bool isSteered() const override { return isEmbedding(); }
    [[nodiscard]] bool isEmbedding() const override { return !m_indices.isValid(); }
    [[nodiscard]] Tensor carryBack(std::span<const Tensor> perOutput, std::size_t slot) const override
    {
        return carryBack(perOutput, {}, slot);
    }
    /// An index gets the sum of its slices. What scales carried is not known here.
    [[nodiscard]] Tensor carryBack(std::span<const Tensor> perOutput, std::span<const Tensor> operands,
                                   std::size_t slot) const override
    {
        if (slot != kIndices || operands.size() <= kIndices) {
            return {};
        }
        const Shape& shape = operands[kIndices].shape();
        return accumulated(m_outputTypes[0].dtype, shape, [&](auto* to) {
            if (perOutput[0].isValid() && perOutput[0].size() > 0) {
                addPerIndex(perOutput[0].contiguous(), tensor::elementCount(shape), to);
            }
        });
    }

private:
    template <class T>
    void addPerIndex(const Tensor& arrived, std::int64_t count, T* to) const
    {
        const T* from = arrived.data<T>();
        const AxisView view(m_levels.table().shape, m_levels.table().gatherAxis);
        for (std::int64_t o = 0; o < view.outer; ++o) {
            for (std::int64_t i = 0; i < count; ++i, from += view.inner) {
                to[i] += reference::pairwiseSum<T>(from, view.inner);
            }
        }
    }

    BlockLevels m_levels;
    Tensor m_indices; ///< where they are constant
};

} // namespace

base::Result<GatheredTable> gatheredTable(const BindContext& context, DType type, std::uint64_t most)
{
    RETRO_TRY(const BlockLevels levels, blockLevels(context));
    if (!tensor::checkedBytes(levels.table().shape, type, most).ok()) {
        return context.error("its table is too large to be widened");
    }
    return GatheredTable{levels.widened(type), static_cast<std::int64_t>(levels.table().gatherAxis)};
}

BoundResult bindGatherBlockQuantized(const BindContext& context)
{
    RETRO_TRY(BlockLevels levels, blockLevels(context));
    RETRO_CHECK(expectIndices(context, BlockSlot::kIndices));
    Shape shape = levels.table().shape;
    const auto at = shape.erase(shape.begin() + static_cast<std::ptrdiff_t>(levels.table().gatherAxis));
    const Shape& indices = context.operandTypes[BlockSlot::kIndices].shape;
    shape.insert(at, indices.begin(), indices.end());
    RETRO_CHECK(expectSize(context, shape));
    return bound<GatherBlockQuantized>(TensorType{context.floatType, std::move(shape)}, std::move(levels),
                                       context.constants[BlockSlot::kIndices]);
}

} // namespace retro::ops
