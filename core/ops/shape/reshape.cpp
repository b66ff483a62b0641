// SPDX-License-Identifier: Apache-2.0
#include "core/ops/bind/bindcheck.h"
#include "core/ops/bind/operatorbase.h"
#include "core/ops/families.h"
#include "core/ops/lookup.h"

#include <fmt/format.h>

namespace retro::ops
{

namespace
{

using tensor::Shape;

/// The same elements in row-major order under another shape: Reshape, Flatten, Squeeze, Unsqueeze.
class Reshaping final : public Operator<ShapeMap>, public TokenMap
{
public:
    Reshaping(TensorType output, Shape operand) : Operator(std::move(output)), m_operand(std::move(operand)) {}

    [[nodiscard]] std::vector<Tensor> forward(std::span<const Tensor> operands) const override
    {
        return {operands[0].reshaped(m_outputTypes[0].shape)};
    }
    [[nodiscard]] Reads savedForGradient() const override { return Reads::nothing(); }
    [[nodiscard]] bool isRearrangement() const override { return true; }
    [[nodiscard]] Tensor carryBack(std::span<const Tensor> perOutput, std::size_t) const override
    {
        return perOutput[0].isValid() ? perOutput[0].reshaped(m_operand)
                                      : Tensor::zeros(m_outputTypes[0].dtype, m_operand);
    }

private:
    Shape m_operand;
};

BoundResult reshapingTo(const BindContext& context, Shape shape)
{
    RETRO_CHECK(expectSize(context, shape));
    const TensorType& operand = firstType(context);
    if (tensor::elementCount(shape) != tensor::elementCount(operand.shape)) {
        return context.error(fmt::format("{} elements do not fit the shape [{}]", tensor::elementCount(operand.shape),
                                         tensor::toText(shape)));
    }
    return bound<Reshaping>(TensorType{operand.dtype, std::move(shape)}, operand.shape);
}

/// Replaces zeros by the operand's extents, unless the node allows extents of 0.
base::Result<Shape> withCopies(const BindContext& context, Shape shape)
{
    const Shape& operand = firstType(context).shape;
    const bool allowsZero = context.node.opset >= 14 && context.intAttribute("allowzero", 0) != 0;
    for (std::size_t i = 0; i < shape.size() && !allowsZero; ++i) {
        if (shape[i] == 0 && i >= operand.size()) {
            return context.error(fmt::format("the shape copies extent {}, which the operand does not have", i));
        }
        shape[i] = shape[i] == 0 ? operand[i] : shape[i];
    }
    return shape;
}

/// Replaces the one −1 by whatever is left.
base::Result<Shape> withRest(const BindContext& context, Shape shape)
{
    const auto open = std::find(shape.begin(), shape.end(), -1);
    if (open == shape.end()) {
        return shape;
    }
    *open = 1;
    RETRO_CHECK(expectSize(context, shape));
    const std::int64_t known = tensor::elementCount(shape);
    const std::int64_t count = tensor::elementCount(firstType(context).shape);
    if (known == 0 || count % known != 0) {
        return context.error(fmt::format("{} elements do not divide into rows of {}", count, known));
    }
    *open = count / known;
    return shape;
}

BoundResult bindReshape(const BindContext& context)
{
    RETRO_TRY(Shape wanted, intsFrom(context, "shape", 1, 5));
    RETRO_TRY(Shape copied, withCopies(context, std::move(wanted)));
    RETRO_TRY(Shape shape, withRest(context, std::move(copied)));
    return reshapingTo(context, std::move(shape));
}

BoundResult bindFlatten(const BindContext& context)
{
    const Shape& operand = firstType(context).shape;
    const std::int64_t given = context.intAttribute("axis", 1);
    const auto rank = static_cast<std::int64_t>(operand.size());
    if (given < -rank || given > rank) {
        return context.error(fmt::format("axis {} is outside a tensor of rank {}", given, rank));
    }
    const auto middle = operand.begin() + (given < 0 ? given + rank : given);
    return reshapingTo(context, {tensor::elementCount(Shape(operand.begin(), middle)),
                                 tensor::elementCount(Shape(middle, operand.end()))});
}

/// Axes to squeeze: those that the node names, else (also where its list is empty, as in ONNX Runtime) all of extent 1.
base::Result<std::vector<std::size_t>> squeezedAxes(const BindContext& context)
{
    const Shape& operand = firstType(context).shape;
    RETRO_CHECK(expectList(context, 1, "axes"));
    RETRO_TRY(const auto given, intsFrom(context, "axes", 1, 13));
    RETRO_TRY(auto axes, axesWithin(context, given, operand.size()));
    if (!axes.empty()) {
        return axes;
    }
    for (std::size_t axis = 0; axis < operand.size(); ++axis) {
        if (operand[axis] == 1) {
            axes.push_back(axis);
        }
    }
    return axes;
}

BoundResult bindSqueeze(const BindContext& context)
{
    RETRO_TRY(const auto axes, squeezedAxes(context));
    Shape shape = firstType(context).shape;
    for (std::size_t i = axes.size(); i-- > 0;) {
        if (shape[axes[i]] != 1) {
            return context.error(
                fmt::format("axis {} has extent {}; only extents of 1 can be squeezed", axes[i], shape[axes[i]]));
        }
        shape.erase(shape.begin() + static_cast<std::ptrdiff_t>(axes[i]));
    }
    return reshapingTo(context, std::move(shape));
}

BoundResult bindUnsqueeze(const BindContext& context)
{
    Shape shape = firstType(context).shape;
    RETRO_TRY(const auto given, intsFrom(context, "axes", 1, 13));
    if (shape.size() + given.size() > tensor::kMaxRank) {
        return context.error(fmt::format("the result would have more than {} axes", tensor::kMaxRank));
    }
    RETRO_TRY(const auto axes, axesWithin(context, given, shape.size() + given.size()));
    for (const std::size_t axis : axes) {
        shape.insert(shape.begin() + static_cast<std::ptrdiff_t>(axis), 1);
    }
    return reshapingTo(context, std::move(shape));
}

} // namespace

const OperatorFamily kReshapeOperators{
    {"", "Reshape", 1, 0, "shape map", true, bindReshape, true, Elements::Reshaped},
    {"", "Flatten", 1, 0, "shape map", true, bindFlatten, true, Elements::Reshaped},
    {"", "Squeeze", 1, 0, "shape map", true, bindSqueeze, true, Elements::Reshaped},
    {"", "Unsqueeze", 1, 0, "shape map", true, bindUnsqueeze, true, Elements::Reshaped},
};

} // namespace retro::ops
