// SPDX-License-Identifier: Apache-2.0
#include "core/ops/bind/windows.h"
#include "core/ops/families.h"
#include "core/ops/linear/convolutiongeometry.h"
#include "core/ops/linear/convolutionmap.h"
#include "core/ops/linear/dynamicconvolution.h"
#include "core/ops/linear/storedweight.h"

#include <fmt/format.h>

#include <array>

namespace retro::ops
{

namespace
{

using reference::ConvolutionShape;
using reference::WindowAxis;
using tensor::Shape;

base::Result<void> expectConvolution(const BindContext& context)
{
    return expect(context, {.least = 2,
                            .most = 3,
                            .types = OperandTypes::Floats,
                            .attributes = {{"kernel_shape", AttributeKind::Ints},
                                           {"group", AttributeKind::Int},
                                           {"output_padding", AttributeKind::Ints},
                                           {"output_shape", AttributeKind::Ints}}});
}

/// A map when weights and bias are constants, else a function of all three.
BoundResult boundMap(const BindContext& context, ConvolutionGeometry geometry, onednn::Direction direction)
{
    TensorType output{firstType(context).dtype, std::move(geometry.output)};
    if (!context.constant(1) || (context.present(2) && !context.constant(2))) {
        return bound<DynamicConvolution>(std::move(output), std::move(geometry.shape), direction,
                                         context.operandTypes[1].shape);
    }
    Tensor bias;
    if (context.present(2)) {
        Shape broadcast(output.shape.size(), 1);
        broadcast[1] = output.shape[1];
        bias = context.constants[2].reshaped(std::move(broadcast));
    }
    return bound<ConvolutionMap>(std::move(output), std::move(geometry.shape), direction, storedWeight(context, 1),
                                 std::move(bias));
}

BoundResult bindConv(const BindContext& context)
{
    RETRO_CHECK(expectConvolution(context));
    RETRO_TRY(ConvolutionGeometry geometry, convolutionGeometry(context, {}));
    return boundMap(context, std::move(geometry), onednn::Direction::Forward);
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

/// output_padding and output_shape (its spatial part; empty when missing), one entry per axis.
struct OutputAttributes
{
    std::vector<std::int64_t> padding;
    std::vector<std::int64_t> shape;
};

base::Result<OutputAttributes> outputAttributes(const BindContext& context, const WindowAttributes& windows)
{
    const std::size_t count = windows.strides.size();
    OutputAttributes result{context.intsAttribute("output_padding", std::vector<std::int64_t>(count, 0)),
                            context.intsAttribute("output_shape", {})};
    if (result.shape.size() == count + 2) { // some exporters name batch and channels, too
        result.shape.erase(result.shape.begin(), result.shape.begin() + 2);
    }
    if (result.padding.size() != count || (!result.shape.empty() && result.shape.size() != count)) {
        return context.error(fmt::format("output_padding and output_shape need {} entries", count));
    }
    for (std::size_t i = 0; i < count; ++i) {
        if (result.padding[i] < 0 || result.padding[i] > windows.strides[i] + windows.dilations[i]) {
            return context.error(
                fmt::format("output_padding {} is not between 0 and stride or dilation", result.padding[i]));
        }
    }
    return result;
}

/// An output shape leaves as many windows as the operand has elements.
base::Result<void> expectWindows(const BindContext& context, const WindowAxis& axis, std::int64_t extra)
{
    const std::int64_t room = axis.image + axis.padBegin + axis.padEnd - axis.span() - extra;
    if (room < 0 || room / axis.stride + 1 != axis.windows) {
        return context.error(
            fmt::format("output_shape {} does not follow from {} elements, a stride of {} and a kernel "
                        "that spans {}",
                        axis.image, axis.windows, axis.stride, axis.span()));
    }
    return {};
}

/// Image and pads of axis `i`, whose other numbers are known.
base::Result<void> placeImage(const BindContext& context, WindowAxis& axis, std::size_t i,
                              const WindowAttributes& windows, const OutputAttributes& output)
{
    const std::int64_t extra = output.padding[i];
    if (!output.shape.empty() || windows.autoPad.starts_with("SAME")) {
        padTo(axis, output.shape.empty() ? axis.windows * axis.stride : output.shape[i], extra,
              windows.autoPad == "SAME_UPPER");
        return output.shape.empty() ? base::Result<void>() : expectWindows(context, axis, extra);
    }
    if (windows.autoPad == "NOTSET") {
        axis.padBegin = windows.pads[i];
        axis.padEnd = windows.pads[windows.strides.size() + i];
    }
    axis.image = (axis.windows - 1) * axis.stride + extra + axis.span() - axis.padBegin - axis.padEnd;
    return {};
}

base::Result<std::vector<WindowAxis>> transposedAxes(const BindContext& context,
                                                     const std::vector<std::int64_t>& kernel)
{
    RETRO_TRY(const std::size_t count, spatialAxes(context, kernel));
    RETRO_TRY(const WindowAttributes windows, windowAttributes(context, count));
    RETRO_TRY(const OutputAttributes output, outputAttributes(context, windows));
    std::vector<WindowAxis> axes(count);
    for (std::size_t i = 0; i < count; ++i) {
        axes[i].windows = firstType(context).shape[2 + i];
        axes[i].kernel = kernel[i];
        axes[i].stride = windows.strides[i];
        axes[i].dilation = windows.dilations[i];
        RETRO_CHECK(placeImage(context, axes[i], i, windows, output));
    }
    return axes;
}

BoundResult bindConvTranspose(const BindContext& context)
{
    RETRO_CHECK(expectConvolution(context));
    RETRO_TRY(const auto kernel, kernelOf(context, {}));
    RETRO_TRY(auto axes, transposedAxes(context, kernel));
    RETRO_TRY(const std::int64_t groups, groupsOf(context, {}, true));
    const Shape& x = firstType(context).shape;
    const Shape& w = context.operandTypes[1].shape;
    Shape output{x[0], w[1] * groups};
    for (const WindowAxis& axis : axes) {
        output.push_back(axis.image);
    }
    RETRO_CHECK(expectSize(context, output));
    ConvolutionShape shape{x[0], groups, w[1], w[0] / groups, std::move(axes)};
    return boundMap(context, {std::move(shape), std::move(output)}, onednn::Direction::Transposed);
}

} // namespace

std::span<const OperatorDeclaration> convolutionDeclarations()
{
    static constexpr std::array kDeclarations{
        OperatorDeclaration{"", "Conv", 1, 0, "linear map, function", true, bindConv},
        OperatorDeclaration{"", "ConvTranspose", 1, 0, "linear map, function", true, bindConvTranspose},
    };
    return kDeclarations;
}

} // namespace retro::ops
