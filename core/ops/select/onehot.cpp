// SPDX-License-Identifier: Apache-2.0
#include "core/ops/bind/bindcheck.h"
#include "core/ops/bind/operatorbase.h"
#include "core/ops/families.h"
#include "core/ops/kernel/elementmap.h"
#include "core/ops/kernel/rowloop.h"

#include <fmt/format.h>

#include <cmath>

namespace retro::ops
{

namespace
{

using tensor::DType;
using tensor::Shape;

constexpr std::size_t kOneHotValues = 2;

/// Which of the two values each element of a result of `shape` is, by the indices along its new axis.
ElementMap chosenValues(const Tensor& given, const Shape& shape, std::size_t axis)
{
    const std::vector<std::int64_t> indices = integersOf(given);
    const AxisView view(shape, axis);
    ElementMap map = roomForPositions(tensor::elementCount(shape));
    map.resize(static_cast<std::size_t>(tensor::elementCount(shape)), 0);
    for (std::size_t n = 0; n < indices.size(); ++n) {
        const std::int64_t index = indices[n] < 0 ? indices[n] + view.extent : indices[n];
        if (index >= 0 && index < view.extent) {
            const auto place = static_cast<std::int64_t>(n);
            map[static_cast<std::size_t>(view.at(place / view.inner, index, place % view.inner))] = 1;
        }
    }
    return map;
}

/// Along a new axis: the on value (element 1 of operand 2) at the index, the off value (element 0) elsewhere.
class OneHot final : public PassiveOperator
{
public:
    OneHot(TensorType output, std::size_t axis) : m_axis(axis) { m_outputTypes.push_back(std::move(output)); }

    [[nodiscard]] std::vector<Tensor> forward(std::span<const Tensor> operands) const override
    {
        const Shape& shape = m_outputTypes[0].shape;
        return {gathered(operands[kOneHotValues], chosenValues(operands[0], shape, m_axis), shape)};
    }

private:
    std::size_t m_axis;
};

/// The same with computed values: each result element is one of the two.
class OneHotOfValues final : public Operator<ShapeMap>
{
public:
    OneHotOfValues(TensorType output, std::span<const TensorType> operands, std::size_t axis)
        : Operator(std::move(output)), m_operands(operands.begin(), operands.end()), m_axis(axis)
    {}

    [[nodiscard]] std::vector<Tensor> forward(std::span<const Tensor> operands) const override
    {
        const Shape& shape = m_outputTypes[0].shape;
        return {gathered(operands[kOneHotValues], chosenValues(operands[0], shape, m_axis), shape)};
    }
    [[nodiscard]] Reads savedForGradient() const override { return {Reads::bit(0), 0}; }
    [[nodiscard]] bool isSteered() const override { return true; }
    [[nodiscard]] Tensor carryBack(std::span<const Tensor>, std::size_t slot) const override
    {
        return Tensor::zeros(m_operands[slot].dtype, m_operands[slot].shape); // never asked: it is steered
    }
    [[nodiscard]] Tensor carryBack(std::span<const Tensor> perOutput, std::span<const Tensor> operands,
                                   std::size_t slot) const override
    {
        if (slot != kOneHotValues || !perOutput[0].isValid()) {
            return Tensor::zeros(m_operands[slot].dtype, m_operands[slot].shape);
        }
        return scatterSum(perOutput[0], chosenValues(operands[0], m_outputTypes[0].shape, m_axis), Shape{2});
    }

private:
    std::vector<TensorType> m_operands;
    std::size_t m_axis;
};

base::Result<std::int64_t> depthOf(const BindContext& context)
{
    RETRO_TRY(const Tensor given, context.known(1));
    if (given.size() != 1) {
        return context.error("the depth (operand 1) must be one number");
    }
    const double depth = given.at(0);
    if (!(depth >= 1) || std::isinf(depth)) {
        return context.error(fmt::format("the depth (operand 1) is {}, but must be a number from 1", depth));
    }
    return integersOf(given)[0];
}

BoundResult bindOneHot(const BindContext& context)
{
    const TensorType& values = context.operandTypes[2];
    if (values.shape != Shape{2}) {
        return context.error("the values (operand 2) must be [off, on]");
    }
    RETRO_TRY(const std::int64_t depth, depthOf(context));
    Shape shape = firstType(context).shape;
    RETRO_TRY(const std::size_t axis, axisWithin(context, context.intAttribute("axis", -1), shape.size() + 1));
    shape.insert(shape.begin() + static_cast<std::ptrdiff_t>(axis), depth);
    RETRO_CHECK(expectSize(context, shape));
    TensorType output{values.dtype, std::move(shape)};
    if (tensor::isFloating(values.dtype) && !context.constant(kOneHotValues)) {
        return bound<OneHotOfValues>(std::move(output), context.operandTypes, axis);
    }
    return bound<OneHot>(std::move(output), axis);
}

} // namespace

const OperatorFamily kOneHotOperators{
    {"", "OneHot", 9, 0, "shape map, no relevance", true, bindOneHot},
};

} // namespace retro::ops
