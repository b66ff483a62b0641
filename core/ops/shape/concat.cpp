// SPDX-License-Identifier: Apache-2.0
#include "core/ops/bind/bindcheck.h"
#include "core/ops/bind/operatorbase.h"
#include "core/ops/families.h"
#include "core/ops/kernel/slices.h"

#include <fmt/format.h>

#include <numeric>

namespace retro::ops
{

namespace
{

using tensor::Shape;

/// Operands one after the other along an axis (Concat), or along a new one (Stack).
class Joining final : public Operator<ShapeMap>
{
public:
    Joining(TensorType output, std::vector<std::int64_t> extents, std::size_t axis, bool isStack)
        : Operator(std::move(output)), m_extents(std::move(extents)), m_axis(axis), m_isStack(isStack)
    {
        std::int64_t begin = 0;
        for (const std::int64_t extent : m_extents) {
            m_begins.push_back(begin);
            begin += extent;
        }
    }

    [[nodiscard]] std::vector<Tensor> forward(std::span<const Tensor> operands) const override
    {
        std::vector<Tensor> parts(operands.begin(), operands.end());
        for (Tensor& part : parts) {
            part = m_isStack ? withAxis(part, m_axis) : part;
        }
        return {joined(m_outputTypes[0], parts, m_extents, m_axis)};
    }
    [[nodiscard]] Reads savedForGradient() const override { return Reads::nothing(); }
    [[nodiscard]] Tensor carryBack(std::span<const Tensor> perOutput, std::size_t slot) const override
    {
        const TensorType& type = m_outputTypes[0];
        const Tensor whole = perOutput[0].isValid() ? perOutput[0] : Tensor::zeros(type.dtype, type.shape);
        const Tensor part = slice(whole, m_axis, m_begins[slot], m_extents[slot]);
        return m_isStack ? withoutAxis(part, m_axis) : part;
    }

private:
    std::vector<std::int64_t> m_extents;
    std::vector<std::int64_t> m_begins;
    std::size_t m_axis;
    bool m_isStack;
};

/// All operands have operand 0's type, rank and extents, but for the extent along `axis` (none when axis is the rank).
base::Result<void> expectSimilar(const BindContext& context, std::size_t axis)
{
    const TensorType& first = firstType(context);
    for (std::size_t slot = 1; slot < context.node.inputs.size(); ++slot) {
        TensorType type = context.operandTypes[slot];
        if (type.shape.size() == first.shape.size() && axis < first.shape.size()) {
            type.shape[axis] = first.shape[axis];
        }
        if (type != first) {
            return context.error(fmt::format("operand {} ({}, [{}]) cannot be joined to operand 0 ({}, [{}])", slot,
                                             nameOf(type.dtype), tensor::toText(context.operandTypes[slot].shape),
                                             nameOf(first.dtype), tensor::toText(first.shape)));
        }
    }
    return {};
}

/// Every operand's extent along `axis`.
std::vector<std::int64_t> extentsAlong(const BindContext& context, std::size_t axis)
{
    std::vector<std::int64_t> extents;
    for (std::size_t slot = 0; slot < context.node.inputs.size(); ++slot) {
        extents.push_back(context.operandTypes[slot].shape[axis]);
    }
    return extents;
}

BoundResult bindConcat(const BindContext& context)
{
    const TensorType& first = firstType(context);
    RETRO_TRY(const std::size_t axis, axisWithin(context, context.intAttribute("axis", 1), first.shape.size()));
    RETRO_CHECK(expectSimilar(context, axis));
    auto extents = extentsAlong(context, axis);
    Shape shape = first.shape;
    shape[axis] = std::accumulate(extents.begin(), extents.end(), std::int64_t{0});
    RETRO_CHECK(expectSize(context, shape));
    return bound<Joining>(TensorType{first.dtype, std::move(shape)}, std::move(extents), axis, false);
}

BoundResult bindStack(const BindContext& context)
{
    const TensorType& first = firstType(context);
    RETRO_TRY(const std::size_t axis, axisWithin(context, context.intAttribute("axis", 0), first.shape.size() + 1));
    RETRO_CHECK(expectSimilar(context, first.shape.size()));
    const std::size_t count = context.node.inputs.size();
    Shape shape = first.shape;
    shape.insert(shape.begin() + static_cast<std::ptrdiff_t>(axis), static_cast<std::int64_t>(count));
    RETRO_CHECK(expectSize(context, shape));
    return bound<Joining>(TensorType{first.dtype, std::move(shape)}, std::vector<std::int64_t>(count, 1), axis, true);
}

} // namespace

const OperatorFamily kConcatOperators{
    {"", "Concat", 1, 0, "shape map", true, bindConcat, true, Elements::Joined},
    {"ai.retrograde", "Stack", 1, 0, "shape map", true, bindStack},
};

} // namespace retro::ops
