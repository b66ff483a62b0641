// SPDX-License-Identifier: Apache-2.0
// Operators that repeat their operand: Expand by broadcasting, Tile by copies side by side.
#include "core/ops/algebra.h"
#include "core/ops/bind/bindcheck.h"
#include "core/ops/bind/operatorbase.h"
#include "core/ops/families.h"
#include "core/ops/kernel/axisreduction.h"
#include "core/ops/kernel/elementloop.h"

#include <fmt/format.h>

namespace retro::ops
{

namespace
{

using tensor::Shape;

class Expand final : public Operator<ShapeMap>
{
public:
    Expand(TensorType output, Shape operand) : Operator(std::move(output)), m_operand(std::move(operand)) {}

    [[nodiscard]] std::vector<Tensor> forward(std::span<const Tensor> operands) const override
    {
        return {algebra::broadcastTo(operands[0], m_outputTypes[0].shape)};
    }
    [[nodiscard]] Reads savedForGradient() const override { return Reads::nothing(); }
    [[nodiscard]] Tensor carryBack(std::span<const Tensor> perOutput, std::size_t) const override
    {
        return perOutput[0].isValid() ? algebra::reduceTo(perOutput[0], m_operand)
                                      : Tensor::zeros(m_outputTypes[0].dtype, m_operand);
    }

private:
    Shape m_operand;
};

BoundResult bindExpand(const BindContext& context)
{
    const TensorType& operand = firstType(context);
    RETRO_TRY(const Shape wanted, context.constantInts(1));
    RETRO_CHECK(expectSize(context, wanted));
    RETRO_TRY(Shape shape, broadcastShape(context, operand.shape, wanted));
    return bound<Expand>(TensorType{operand.dtype, std::move(shape)}, operand.shape);
}

/// `repeats` copies along each axis.
class Tile final : public Operator<ShapeMap>
{
public:
    Tile(TensorType output, Shape operand, Shape repeats)
        : Operator(std::move(output)), m_operand(std::move(operand)), m_repeats(std::move(repeats))
    {}

    [[nodiscard]] std::vector<Tensor> forward(std::span<const Tensor> operands) const override
    {
        const Tensor& x = operands[0];
        Shape strides;
        for (const std::int64_t stride : x.strides()) {
            strides.insert(strides.end(), {0, stride});
        }
        const Tensor copies(x.dtype(), interleaved(), std::move(strides), x.offset(), x.storage());
        return {copies.contiguous().reshaped(m_outputTypes[0].shape)};
    }
    [[nodiscard]] Reads savedForGradient() const override { return Reads::nothing(); }
    [[nodiscard]] Tensor carryBack(std::span<const Tensor> perOutput, std::size_t) const override
    {
        if (!perOutput[0].isValid()) {
            return Tensor::zeros(m_outputTypes[0].dtype, m_operand);
        }
        std::vector<std::size_t> axes;
        for (std::size_t axis = 0; axis < m_operand.size(); ++axis) {
            axes.push_back(2 * axis);
        }
        return sumOverAxes(perOutput[0].reshaped(interleaved()), axes).reshaped(m_operand);
    }

private:
    /// repeats, extent, repeats, extent, …
    [[nodiscard]] Shape interleaved() const
    {
        Shape shape;
        for (std::size_t axis = 0; axis < m_operand.size(); ++axis) {
            shape.insert(shape.end(), {m_repeats[axis], m_operand[axis]});
        }
        return shape;
    }

    Shape m_operand;
    Shape m_repeats;
};

BoundResult bindTile(const BindContext& context)
{
    const TensorType& operand = firstType(context);
    RETRO_TRY(Shape repeats, context.constantInts(1));
    if (repeats.size() != operand.shape.size()) {
        return context.error(fmt::format("repeats has {} entries for {} axes", repeats.size(), operand.shape.size()));
    }
    Shape shape = operand.shape;
    for (std::size_t axis = 0; axis < shape.size(); ++axis) {
        if (repeats[axis] < 0 || repeats[axis] > kMaxElements) {
            return context.error(fmt::format("repeats contains {}, which is out of range", repeats[axis]));
        }
        shape[axis] = shape[axis] == 0 ? 0 : shape[axis] * std::min(repeats[axis], kMaxElements / shape[axis] + 1);
    }
    RETRO_CHECK(expectSize(context, shape));
    return bound<Tile>(TensorType{operand.dtype, std::move(shape)}, operand.shape, std::move(repeats));
}

} // namespace

// In its first form, Tile repeated along one axis that was an operand.
const OperatorFamily kRepeatOperators{
    {"", "Expand", 8, 0, "shape map", true, bindExpand, false, Elements::Repeated},
    {"", "Tile", 6, 0, "shape map", true, bindTile, false, Elements::Repeated},
};

} // namespace retro::ops
