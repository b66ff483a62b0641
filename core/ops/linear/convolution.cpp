// SPDX-License-Identifier: Apache-2.0
#include "core/ops/algebra.h"
#include "core/ops/bind/operatorbase.h"
#include "core/ops/bind/windows.h"
#include "core/ops/families.h"
#include "core/ops/kernel/filled.h"
#include "core/ops/linear/convolutiongeometry.h"
#include "core/ops/linear/convolutionmap.h"
#include "core/ops/linear/storedweight.h"
#include "core/ops/onednn/onednnconvolution.h"
#include "core/ops/readsbyslot.h"

#include <fmt/format.h>

namespace retro::ops
{

namespace
{

/// Conv and ConvTranspose whose weights (operand 1) or bias (operand 2) are computed: a function of all of them.
class DynamicConvolution final : public Operator<Differentiable>, public ReadsBySlot
{
public:
    /// `direction` is that of the operator: Forward for Conv, Transposed for ConvTranspose.
    DynamicConvolution(TensorType output, reference::ConvolutionShape shape, onednn::Direction direction,
                       tensor::Shape weight);

    [[nodiscard]] std::vector<Tensor> forward(std::span<const Tensor> operands) const override;
    [[nodiscard]] Reads savedForGradient() const override { return {Reads::bit(0) | Reads::bit(1), 0}; }
    [[nodiscard]] Reads readsFor(std::span<const std::uint8_t> slots) const override { return readsOfProduct(slots); }
    [[nodiscard]] double flops() const override;
    /// By operand, weights or bias.
    [[nodiscard]] Tensor pullback(std::span<const Tensor> s, std::span<const Tensor> operands,
                                  std::span<const Tensor> outputs, std::size_t slot) const override;
    /// Bilinear in operand and weights.
    [[nodiscard]] double share(std::span<const std::uint8_t> tracked, std::size_t slot) const override;

private:
    [[nodiscard]] Tensor weightGradient(const Tensor& s, const Tensor& x) const;

    reference::ConvolutionShape m_shape;
    onednn::Direction m_direction;
    tensor::Shape m_weight;
};

using onednn::Direction;
using tensor::Shape;

DynamicConvolution::DynamicConvolution(TensorType output, reference::ConvolutionShape shape, Direction direction,
                                       Shape weight)
    : Operator(std::move(output)), m_shape(std::move(shape)), m_direction(direction), m_weight(std::move(weight))
{}

double DynamicConvolution::flops() const
{
    const std::int64_t perWindow = m_shape.groups * m_shape.filters * m_shape.channels * m_shape.taps();
    return 2.0 * static_cast<double>(m_shape.batch * m_shape.windowCount()) * static_cast<double>(perWindow);
}

std::vector<Tensor> DynamicConvolution::forward(std::span<const Tensor> operands) const
{
    const ConvolutionMap map(m_outputTypes[0], m_shape, m_direction, operands[1], {});
    const Tensor z = map.apply(operands[0], {});
    if (operands.size() < 3 || !operands[2].isValid()) {
        return {z};
    }
    Shape broadcast(z.rank(), 1);
    broadcast[1] = z.shape()[1];
    return {algebra::addBroadcast(z, operands[2].contiguous().reshaped(std::move(broadcast)))};
}

Tensor DynamicConvolution::weightGradient(const Tensor& s, const Tensor& x) const
{
    const bool isForward = m_direction == Direction::Forward;
    const Tensor image = (isForward ? x : s).contiguous();
    const Tensor result = (isForward ? s : x).contiguous();
    return accumulated(s.dtype(), m_weight, [&](auto* w) {
        if (image.size() > 0 && result.size() > 0) {
            reference::convolveWeights(m_shape, elements(image, w), elements(result, w), w);
        }
    });
}

Tensor DynamicConvolution::pullback(std::span<const Tensor> s, std::span<const Tensor> operands,
                                    std::span<const Tensor>, std::size_t slot) const
{
    if (slot == 0) {
        return ConvolutionMap(m_outputTypes[0], m_shape, m_direction, operands[1], {}).pullback(s[0], {});
    }
    if (slot == 1) {
        return weightGradient(s[0], operands[0]);
    }
    Shape channels(s[0].rank(), 1);
    channels[1] = s[0].shape()[1];
    return algebra::reduceTo(s[0], channels).contiguous().reshaped({channels[1]});
}

double DynamicConvolution::share(std::span<const std::uint8_t> tracked, std::size_t slot) const
{
    return slot < 2 && tracked[0] != 0 && tracked[1] != 0 ? 0.5 : 1;
}

using reference::ConvolutionShape;
using reference::WindowAxis;

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
    RETRO_CHECK(expect(context, OperandTypes::Floats));
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
        if (!result.shape.empty() && result.shape[i] < 0) {
            return context.error(fmt::format("output_shape has the negative extent {}", result.shape[i]));
        }
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
    RETRO_CHECK(expect(context, OperandTypes::Floats));
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

const OperatorFamily kConvolutionOperators{
    {"", "Conv", 1, 0, "linear map, function", true, bindConv},
    {"", "ConvTranspose", 1, 0, "linear map, function", true, bindConvTranspose},
};

} // namespace retro::ops
