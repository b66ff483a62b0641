// SPDX-License-Identifier: Apache-2.0
#include "core/ops/quantise/scalelayout.h"

#include "core/ops/bind/bindcheck.h"
#include "core/ops/quantise/integers.h"
#include "core/ops/shape/elementtype.h"

#include <fmt/format.h>

namespace retro::ops
{

using tensor::DType;
using tensor::Shape;

namespace
{

ScaleLayout scaleLayout(const Shape& shape, std::size_t axis)
{
    const auto at = shape.begin() + static_cast<std::ptrdiff_t>(axis);
    ScaleLayout layout;
    layout.outer = tensor::elementCount({shape.begin(), at});
    layout.extent = *at;
    layout.inner = tensor::elementCount({at + 1, shape.end()});
    layout.isPerTensor = false;
    return layout;
}

base::Result<ScaleLayout> blockedLayout(const BindContext& context, ScaleLayout layout, std::size_t axis,
                                        std::int64_t block)
{
    Shape wanted = firstType(context).shape;
    wanted[axis] = (wanted[axis] + block - 1) / block;
    if (context.operandTypes[1].shape != wanted) {
        return context.error(
            fmt::format("with block_size {} the scale must have the shape [{}]", block, tensor::toText(wanted)));
    }
    layout.block = block;
    layout.isBlocked = true;
    return layout;
}

/// A zero point has the shape of the scale; one number may be a scalar or not.
base::Result<void> expectZeroPoint(const BindContext& context)
{
    if (!context.present(2) || context.operandTypes[2].shape == context.operandTypes[1].shape) {
        return {};
    }
    const bool areOne = tensor::elementCount(context.operandTypes[1].shape) == 1 &&
                        tensor::elementCount(context.operandTypes[2].shape) == 1;
    return areOne ? base::Result<void>() : context.error("scale and zero point (operands 1 and 2) must have one shape");
}

} // namespace

base::Result<ScaleLayout> scaleLayoutOf(const BindContext& context)
{
    const Shape& x = firstType(context).shape;
    const Shape& scale = context.operandTypes[1].shape;
    const bool isOne = tensor::elementCount(scale) == 1 && scale.size() <= 1;
    const std::int64_t block = context.intAttribute("block_size", 0);
    if (block < 0) {
        return context.error(fmt::format("block_size is {}, but must not be negative", block));
    }
    if (isOne && block == 0) {
        ScaleLayout all;
        all.inner = tensor::elementCount(x);
        return all;
    }
    RETRO_TRY(const std::size_t axis, axisWithin(context, context.intAttribute("axis", 1), x.size()));
    const ScaleLayout layout = scaleLayout(x, axis);
    if (block > 0) {
        return blockedLayout(context, layout, axis, block);
    }
    if (scale != Shape{layout.extent}) {
        return context.error(fmt::format("the scale must be one number or have the shape [{}]", layout.extent));
    }
    return layout;
}

DType computingType(const BindContext& context)
{
    const DType scale = context.operandTypes[1].dtype;
    return tensor::isFloating(scale) ? scale : context.floatType;
}

base::Result<void> expectScales(const BindContext& context)
{
    const DType scale = context.operandTypes[1].dtype;
    if (!tensor::isFloating(scale) && scale != DType::Float8E8M0 && scale != DType::Int32) {
        return context.error(fmt::format("the scale (operand 1) is {}, but must be floating, float8e8m0 or int32",
                                         tensor::nameOf(scale)));
    }
    return expectZeroPoint(context);
}

base::Result<DType> quantisedType(const BindContext& context)
{
    DType type = DType::UInt8;
    if (context.present(2)) {
        type = context.operandTypes[2].dtype;
    } else if (context.intAttribute("output_dtype", 0) != 0) {
        RETRO_TRY(type, elementType(context, "output_dtype"));
    }
    if (isQuantised(type)) {
        return type;
    }
    return context.error(
        fmt::format("the quantised type is {}, but must be {}", tensor::nameOf(type), kQuantisedTypes));
}

} // namespace retro::ops
