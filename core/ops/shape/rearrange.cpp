// SPDX-License-Identifier: Apache-2.0
// Operators that put elements in another place without a value changing: DepthToSpace, SpaceToDepth, Trilu,
// ReverseSequence.
#include "core/ops/bind/bindcheck.h"
#include "core/ops/families.h"
#include "core/ops/kernel/indices.h"
#include "core/ops/masking.h"
#include "core/ops/shape/mappedelements.h"

#include <fmt/format.h>

namespace retro::ops
{

namespace
{

using tensor::Shape;

/// Split into more axes, put in another order, and merged again.
class Rearrange final : public Operator<ShapeMap>
{
public:
    Rearrange(TensorType output, Shape operand, Shape split, Shape order)
        : Operator(std::move(output)), m_operand(std::move(operand)), m_split(std::move(split)),
          m_order(std::move(order)), m_inverse(m_order.size())
    {
        for (std::size_t i = 0; i < m_order.size(); ++i) {
            m_inverse[static_cast<std::size_t>(m_order[i])] = static_cast<std::int64_t>(i);
            m_moved.push_back(m_split[static_cast<std::size_t>(m_order[i])]);
        }
    }

    [[nodiscard]] std::vector<Tensor> forward(std::span<const Tensor> operands) const override
    {
        return {operands[0].reshaped(m_split).permuted(m_order).reshaped(m_outputTypes[0].shape)};
    }
    [[nodiscard]] Reads savedForGradient() const override { return Reads::nothing(); }
    [[nodiscard]] Tensor carryBack(std::span<const Tensor> perOutput, std::size_t) const override
    {
        return perOutput[0].isValid() ? perOutput[0].reshaped(m_moved).permuted(m_inverse).reshaped(m_operand)
                                      : Tensor::zeros(m_outputTypes[0].dtype, m_operand);
    }

private:
    Shape m_operand;
    Shape m_split;
    Shape m_order;
    Shape m_inverse;
    Shape m_moved;
};

base::Result<std::int64_t> blockOf(const BindContext& context)
{
    const std::int64_t block = context.intAttribute("blocksize", 0);
    if (firstType(context).shape.size() != 4) {
        return context.error("the operand must have the axes batch × channels × height × width");
    }
    if (block < 1 || block > (1 << 20)) {
        return context.error(fmt::format("blocksize {} is out of range", block));
    }
    return block;
}

BoundResult bindDepthToSpace(const BindContext& context)
{
    RETRO_TRY(const std::int64_t b, blockOf(context));
    const TensorType& x = firstType(context);
    const std::int64_t n = x.shape[0];
    const std::int64_t h = x.shape[2];
    const std::int64_t w = x.shape[3];
    if (x.shape[1] % (b * b) != 0) {
        return context.error(fmt::format("{} channels do not divide into blocks of {}", x.shape[1], b * b));
    }
    const std::int64_t c = x.shape[1] / (b * b);
    const std::string mode = context.node.opset < 11 ? "DCR" : context.textAttribute("mode", "DCR");
    if (mode != "DCR" && mode != "CRD") {
        return context.error(fmt::format("mode '{}' is unknown; only 'DCR' and 'CRD' are", mode));
    }
    TensorType output{x.dtype, {n, c, h * b, w * b}};
    return mode == "DCR"
               ? bound<Rearrange>(std::move(output), x.shape, Shape{n, b, b, c, h, w}, Shape{0, 3, 4, 1, 5, 2})
               : bound<Rearrange>(std::move(output), x.shape, Shape{n, c, b, b, h, w}, Shape{0, 1, 4, 2, 5, 3});
}

BoundResult bindSpaceToDepth(const BindContext& context)
{
    RETRO_TRY(const std::int64_t b, blockOf(context));
    const TensorType& x = firstType(context);
    if (x.shape[2] % b != 0 || x.shape[3] % b != 0) {
        return context.error(fmt::format("{} × {} does not divide into blocks of {}", x.shape[2], x.shape[3], b));
    }
    const Shape split{x.shape[0], x.shape[1], x.shape[2] / b, b, x.shape[3] / b, b};
    TensorType output{x.dtype, {x.shape[0], x.shape[1] * b * b, split[2], split[4]}};
    return bound<Rearrange>(std::move(output), x.shape, split, Shape{0, 3, 5, 1, 2, 4});
}

/// One triangle of each matrix, on and above (below) diagonal k; the other is 0.
class Triangle final : public MappedElements, public Masking
{
public:
    Triangle(const TensorType& type, std::int64_t k, bool isUpper)
        : MappedElements(type, type.shape, false), m_k(k), m_isUpper(isUpper)
    {}

protected:
    [[nodiscard]] ElementMap sources(std::span<const Tensor>) const override
    {
        ElementMap map = roomForPositions(tensor::elementCount(operandShape()));
        forEachIndex(operandShape(), [&](const Shape& index) {
            const std::int64_t diagonal = index.back() - index[index.size() - 2];
            const auto place = static_cast<std::int64_t>(map.size());
            map.push_back((m_isUpper ? diagonal >= m_k : diagonal <= m_k) ? place : -1);
        });
        return map;
    }

private:
    std::int64_t m_k;
    bool m_isUpper;
};

base::Result<std::int64_t> diagonalOf(const BindContext& context)
{
    RETRO_TRY(const auto given, context.constantInts(1));
    if (given.size() > 1) {
        return context.error("k (operand 1) must be one number");
    }
    return given.empty() ? 0 : given[0];
}

BoundResult bindTrilu(const BindContext& context)
{
    const TensorType& x = firstType(context);
    if (x.shape.size() < 2) {
        return context.error("the operand must be a matrix, or a batch of them");
    }
    RETRO_TRY(const std::int64_t k, diagonalOf(context));
    const bool isUpper = context.intAttribute("upper", 1) != 0;
    return bound<Triangle>(x, k, isUpper);
}

/// The first elements of each sequence in reverse, as many as operand 1 says.
class ReverseSequence final : public MappedElements
{
public:
    ReverseSequence(const TensorType& type, std::size_t batchAxis, std::size_t timeAxis)
        : MappedElements(type, type.shape, true), m_batchAxis(batchAxis), m_timeAxis(timeAxis)
    {}

    [[nodiscard]] base::Result<void> check(std::span<const Tensor> operands) const override
    {
        for (const std::int64_t length : integersOf(operands[1])) {
            if (length < 0 || length > operandShape()[m_timeAxis]) {
                return base::inputError(
                    fmt::format("a sequence of {} elements on an axis of {}", length, operandShape()[m_timeAxis]));
            }
        }
        return {};
    }

protected:
    [[nodiscard]] ElementMap sources(std::span<const Tensor> operands) const override
    {
        const std::vector<std::int64_t> lengths = integersOf(operands[1]);
        const std::int64_t step = tensor::rowMajorStrides(operandShape())[m_timeAxis];
        ElementMap map = roomForPositions(tensor::elementCount(operandShape()));
        forEachIndex(operandShape(), [&](const Shape& index) {
            const std::int64_t length = lengths[static_cast<std::size_t>(index[m_batchAxis])];
            const std::int64_t time = index[m_timeAxis];
            const std::int64_t moved = time < length ? length - 1 - time : time;
            map.push_back(static_cast<std::int64_t>(map.size()) + (moved - time) * step);
        });
        return map;
    }

private:
    std::size_t m_batchAxis;
    std::size_t m_timeAxis;
};

BoundResult bindReverseSequence(const BindContext& context)
{
    RETRO_CHECK(expectIndices(context, 1));
    const TensorType& x = firstType(context);
    RETRO_TRY(const std::size_t batch, axisWithin(context, context.intAttribute("batch_axis", 1), x.shape.size()));
    RETRO_TRY(const std::size_t time, axisWithin(context, context.intAttribute("time_axis", 0), x.shape.size()));
    if (batch == time || context.operandTypes[1].shape != Shape{x.shape[batch]}) {
        return context.error(
            fmt::format("sequence_lens must have the shape [{}], and the two axes must differ", x.shape[batch]));
    }
    return bound<ReverseSequence>(x, batch, time);
}

} // namespace

const OperatorFamily kRearrangeOperators{
    {"", "DepthToSpace", 1, 0, "shape map", true, bindDepthToSpace, false, Elements::Moved},
    {"", "ReverseSequence", 10, 0, "shape map", true, bindReverseSequence, false, Elements::Moved},
    {"", "SpaceToDepth", 1, 0, "shape map", true, bindSpaceToDepth, false, Elements::Moved},
    {"", "Trilu", 14, 0, "shape map", true, bindTrilu},
};

} // namespace retro::ops
