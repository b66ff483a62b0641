// SPDX-License-Identifier: Apache-2.0
#include "core/ops/window/reducebind.h"

#include <numeric>

namespace retro::ops
{

using tensor::Shape;

namespace
{

base::Result<std::vector<std::size_t>> reducedAxes(const BindContext& context, std::int64_t operandSince)
{
    const std::size_t rank = firstType(context).shape.size();
    RETRO_CHECK(expectList(context, 1, "axes"));
    RETRO_TRY(const auto given, intsFrom(context, "axes", 1, operandSince));
    RETRO_TRY(auto axes, axesWithin(context, given, rank));
    const bool isNoop = context.node.opset >= operandSince && context.intAttribute("noop_with_empty_axes", 0) != 0;
    if (axes.empty() && !isNoop) {
        axes.resize(rank);
        std::iota(axes.begin(), axes.end(), std::size_t{0});
    }
    return axes;
}

Shape reducedShape(const Shape& operand, const std::vector<std::size_t>& axes, bool keeps)
{
    Shape shape = operand;
    for (std::size_t i = axes.size(); i-- > 0;) {
        shape[axes[i]] = 1;
        if (!keeps) {
            shape.erase(shape.begin() + static_cast<std::ptrdiff_t>(axes[i]));
        }
    }
    return shape;
}

} // namespace

base::Result<ReducePlan> reducePlan(const BindContext& context, std::int64_t operandSince)
{
    RETRO_TRY(auto axes, reducedAxes(context, operandSince));
    Shape shape = reducedShape(firstType(context).shape, axes, context.intAttribute("keepdims", 1) != 0);
    return ReducePlan{std::move(axes), std::move(shape)};
}

} // namespace retro::ops
