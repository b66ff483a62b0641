// SPDX-License-Identifier: Apache-2.0
#include "core/ops/bind/windows.h"
#include "core/ops/families.h"
#include "core/ops/linear/convolutionmap.h"

#include <fmt/format.h>

#include <array>

namespace retro::ops
{

namespace
{

using reference::ConvolutionShape;
using reference::WindowAxis;
using tensor::Shape;

/// Kernel extents from the weights, checked against kernel_shape.
base::Result<std::vector<std::int64_t>> kernelOf(const BindContext& context)
{
    RETRO_CHECK(expectAttributes(context, {{"kernel_shape", AttributeKind::Ints}, {"group", AttributeKind::Int}}));
    const Shape& weight = context.operandTypes[1].shape;
    if (weight.size() != firstType(context).shape.size()) {
        return context.error(fmt::format("the weights have rank {}, the operand has rank {}; they must agree",
                                         weight.size(), firstType(context).shape.size()));
    }
    std::vector<std::int64_t> kernel(weight.begin() + 2, weight.end());
    if (context.intsAttribute("kernel_shape", kernel) != kernel) {
        return context.error("kernel_shape does not agree with the shape of the weights");
    }
    return kernel;
}

/// Constant weights, a constant bias of `channels` elements or none, groups that divide; `axis` is the weights' axis
/// that must fit the operand's channels together with the groups.
base::Result<std::int64_t> groupsOf(const BindContext& context, bool isTransposed)
{
    const Shape& x = firstType(context).shape;
    const Shape& w = context.operandTypes[1].shape;
    const std::int64_t groups = context.intAttribute("group", 1);
    if (groups < 1 || w[0] % groups != 0 || x[1] != (isTransposed ? w[0] : w[1] * groups)) {
        return context.error(fmt::format("{} channels, weights for {} × {} and {} groups do not fit together", x[1],
                                         w[0], w[1], groups));
    }
    const std::int64_t channels = isTransposed ? w[1] * groups : w[0];
    if (context.present(2) && context.operandTypes[2].shape != Shape{channels}) {
        return context.error(fmt::format("the bias must have the shape [{}]", channels));
    }
    if (!context.constant(1) || (context.present(2) && !context.constant(2))) {
        return context.error("weights and bias must be constants; fold the part of the model that computes them");
    }
    return groups;
}

BoundResult boundMap(const BindContext& context, ConvolutionShape shape, onednn::Direction direction, Shape output)
{
    RETRO_CHECK(expectSize(context, output));
    Tensor bias;
    if (context.present(2)) {
        Shape broadcast(output.size(), 1);
        broadcast[1] = output[1];
        bias = context.constants[2].reshaped(std::move(broadcast));
    }
    return bound<ConvolutionMap>(TensorType{firstType(context).dtype, std::move(output)}, std::move(shape), direction,
                                 context.constants[1], std::move(bias));
}

BoundResult bindConv(const BindContext& context)
{
    RETRO_CHECK(expectArity(context, 2, 3));
    RETRO_CHECK(expectFloats(context, {0, 1, 2}));
    RETRO_TRY(const auto kernel, kernelOf(context));
    RETRO_TRY(auto axes, windowsOver(context, kernel));
    RETRO_TRY(const std::int64_t groups, groupsOf(context, false));
    const Shape& x = firstType(context).shape;
    const Shape& w = context.operandTypes[1].shape;
    Shape output{x[0], w[0]};
    for (const WindowAxis& axis : axes) {
        output.push_back(axis.windows);
    }
    ConvolutionShape shape{x[0], groups, w[1], w[0] / groups, std::move(axes)};
    return boundMap(context, std::move(shape), onednn::Direction::Forward, std::move(output));
}

/// Splits the padding that an output shape implies; SAME_UPPER puts the odd one behind.
void padTo(WindowAxis& axis, std::int64_t output, std::int64_t extra, bool isUpper)
{
    const std::int64_t total =
        std::max<std::int64_t>((axis.windows - 1) * axis.stride + extra + axis.span() - output, 0);
    axis.padBegin = isUpper ? total / 2 : total - total / 2;
    axis.padEnd = total - axis.padBegin;
    axis.image = output;
}

base::Result<std::vector<WindowAxis>> transposedAxes(const BindContext& context,
                                                     const std::vector<std::int64_t>& kernel)
{
    RETRO_TRY(const std::size_t count, spatialAxes(context));
    RETRO_CHECK(expectKernel(context, kernel, count));
    RETRO_TRY(const WindowAttributes attributes, windowAttributes(context, count));
    RETRO_CHECK(
        expectAttributes(context, {{"output_padding", AttributeKind::Ints}, {"output_shape", AttributeKind::Ints}}));
    const auto extra = context.intsAttribute("output_padding", std::vector<std::int64_t>(count, 0));
    auto wanted = context.intsAttribute("output_shape", {});
    if (wanted.size() == count + 2) {
        wanted.erase(wanted.begin(), wanted.begin() + 2);
    }
    if (extra.size() != count || (!wanted.empty() && wanted.size() != count)) {
        return context.error(fmt::format("output_padding and output_shape need {} entries", count));
    }
    std::vector<WindowAxis> axes(count);
    for (std::size_t i = 0; i < count; ++i) {
        WindowAxis& axis = axes[i];
        axis.windows = firstType(context).shape[2 + i];
        axis.kernel = kernel[i];
        axis.stride = attributes.strides[i];
        axis.dilation = attributes.dilations[i];
        const bool isSame = attributes.autoPad.starts_with("SAME");
        if (extra[i] < 0 || extra[i] > axis.stride + axis.dilation) {
            return context.error(fmt::format("output_padding {} is not smaller than stride or dilation", extra[i]));
        }
        if (!wanted.empty() || isSame) {
            padTo(axis, wanted.empty() ? axis.windows * axis.stride : wanted[i], extra[i],
                  attributes.autoPad == "SAME_UPPER");
            continue;
        }
        if (attributes.autoPad == "NOTSET") {
            axis.padBegin = attributes.pads[i];
            axis.padEnd = attributes.pads[count + i];
        }
        axis.image = (axis.windows - 1) * axis.stride + extra[i] + axis.span() - axis.padBegin - axis.padEnd;
    }
    return axes;
}

BoundResult bindConvTranspose(const BindContext& context)
{
    RETRO_CHECK(expectArity(context, 2, 3));
    RETRO_CHECK(expectFloats(context, {0, 1, 2}));
    RETRO_TRY(const auto kernel, kernelOf(context));
    RETRO_TRY(auto axes, transposedAxes(context, kernel));
    RETRO_TRY(const std::int64_t groups, groupsOf(context, true));
    const Shape& x = firstType(context).shape;
    const Shape& w = context.operandTypes[1].shape;
    Shape output{x[0], w[1] * groups};
    for (const WindowAxis& axis : axes) {
        output.push_back(axis.image);
    }
    ConvolutionShape shape{x[0], groups, w[1], w[0] / groups, std::move(axes)};
    return boundMap(context, std::move(shape), onednn::Direction::Transposed, std::move(output));
}

} // namespace

std::span<const OperatorDeclaration> convolutionDeclarations()
{
    static constexpr std::array kDeclarations{
        OperatorDeclaration{"", "Conv", 1, 0, "linear map", true, bindConv},
        OperatorDeclaration{"", "ConvTranspose", 1, 0, "linear map", true, bindConvTranspose},
    };
    return kDeclarations;
}

} // namespace retro::ops
