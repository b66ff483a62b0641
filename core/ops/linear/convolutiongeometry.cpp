// SPDX-License-Identifier: Apache-2.0
#include "core/ops/linear/convolutiongeometry.h"

#include "core/ops/bind/windows.h"

#include <fmt/format.h>

#include <algorithm>

namespace retro::ops
{

using tensor::Shape;

base::Result<std::vector<std::int64_t>> kernelOf(const BindContext& context, const ConvolutionSlots& slots)
{
    RETRO_CHECK(expectOnePadding(context));
    const Shape& weight = context.operandTypes[slots.weight].shape;
    if (weight.size() != firstType(context).shape.size()) {
        return context.error(fmt::format("the weights have rank {}, the operand has rank {}; they must agree",
                                         weight.size(), firstType(context).shape.size()));
    }
    if (weight.size() < 3) {
        return context.error(fmt::format("operand 0 has rank {}, but needs the axes batch × channels and at least one "
                                         "more",
                                         weight.size()));
    }
    std::vector<std::int64_t> kernel(weight.begin() + 2, weight.end());
    if (context.intsAttribute("kernel_shape", kernel) != kernel) {
        return context.error("kernel_shape does not agree with the shape of the weights");
    }
    return kernel;
}

base::Result<std::int64_t> groupsOf(const BindContext& context, const ConvolutionSlots& slots, bool isTransposed)
{
    const Shape& x = firstType(context).shape;
    const Shape& w = context.operandTypes[slots.weight].shape;
    const std::int64_t groups = context.intAttribute("group", 1);
    if (groups < 1 || groups > std::max<std::int64_t>(w[0], 1) || w[0] % groups != 0 ||
        x[1] != (isTransposed ? w[0] : w[1] * groups)) {
        return context.error(fmt::format("{} channels, weights for {} × {} and {} groups do not fit together", x[1],
                                         w[0], w[1], groups));
    }
    const std::int64_t channels = isTransposed ? w[1] * groups : w[0];
    if (context.present(slots.bias) && context.operandTypes[slots.bias].shape != Shape{channels}) {
        return context.error(fmt::format("the bias must have the shape [{}]", channels));
    }
    return groups;
}

base::Result<ConvolutionGeometry> convolutionGeometry(const BindContext& context, const ConvolutionSlots& slots)
{
    RETRO_TRY(const auto kernel, kernelOf(context, slots));
    RETRO_TRY(auto axes, windowsOver(context, kernel));
    RETRO_TRY(const std::int64_t groups, groupsOf(context, slots, false));
    const Shape& x = firstType(context).shape;
    const Shape& w = context.operandTypes[slots.weight].shape;
    Shape output;
    for (const reference::WindowAxis& axis : axes) {
        output.push_back(axis.windows);
    }
    RETRO_CHECK(expectSize(context, output)); // also where there are no channels
    output.insert(output.begin(), {x[0], w[0]});
    RETRO_CHECK(expectSize(context, output));
    return ConvolutionGeometry{{x[0], groups, w[1], w[0] / groups, std::move(axes)}, std::move(output)};
}

} // namespace retro::ops
