// SPDX-License-Identifier: Apache-2.0
#include "core/ops/bind/bindcheck.h"
#include "core/ops/bind/operatorbase.h"
#include "core/ops/families.h"
#include "core/ops/kernel/filled.h"
#include "core/ops/linearoperands.h"
#include "core/ops/reference/convolution.h"

#include <fmt/format.h>

namespace retro::ops
{

namespace
{

using reference::ConvolutionShape;
using reference::WindowAxis;
using tensor::Shape;

/// Columns of blocks (batch × channels·taps × windows) put where the blocks lie in the image; what overlaps is summed.
class Col2Im final : public Operator<Differentiable>, public LinearOperands
{
public:
    Col2Im(TensorType output, Shape columns, ConvolutionShape shape)
        : Operator(std::move(output)), m_columns(std::move(columns)), m_shape(std::move(shape))
    {}

    [[nodiscard]] std::vector<Tensor> forward(std::span<const Tensor> operands) const override
    {
        const Tensor columns = operands[0].contiguous();
        return {accumulated(columns.dtype(), m_outputTypes[0].shape, [&](auto* image) {
            const auto* in = elements(columns, image);
            forEachTap([&](std::int64_t column, std::int64_t at) { image[at] += in[column]; });
        })};
    }
    [[nodiscard]] bool isLinearIn(std::size_t slot) const override { return slot == 0; }
    [[nodiscard]] Reads savedForGradient() const override { return Reads::nothing(); }
    [[nodiscard]] Tensor pullback(std::span<const Tensor> s, std::span<const Tensor>, std::span<const Tensor>,
                                  std::size_t) const override
    {
        const Tensor gradient = s[0].contiguous();
        return accumulated(gradient.dtype(), m_columns, [&](auto* r) {
            const auto* g = elements(gradient, r);
            forEachTap([&](std::int64_t column, std::int64_t at) { r[column] = g[at]; });
        });
    }

private:
    /// Calls f(element of the columns, element of the image) for every element that does not fall into the padding.
    template <class F>
    void forEachTap(const F& f) const
    {
        const std::int64_t windows = m_shape.windowCount();
        const std::int64_t rows = m_shape.channels * m_shape.taps();
        for (std::int64_t n = 0; n < m_shape.batch; ++n) {
            reference::detail::forEachTap(m_shape, 0, windows, [&](std::int64_t row, std::int64_t i, std::int64_t at) {
                f((n * rows + row) * windows + i, n * m_shape.channels * m_shape.imageSize() + at);
            });
        }
    }

    Shape m_columns;
    ConvolutionShape m_shape;
};

base::Result<std::vector<std::int64_t>> list(const BindContext& context, std::string_view name, std::size_t count,
                                             std::int64_t fallback)
{
    auto values = context.intsAttribute(name, std::vector<std::int64_t>(count, fallback));
    const bool isLarge =
        std::any_of(values.begin(), values.end(), [&](std::int64_t v) { return v < fallback || v > (1LL << 30); });
    if (values.size() != count || isLarge) {
        return context.error(fmt::format("{} needs {} entries of at least {}", name, count, fallback));
    }
    return values;
}

base::Result<std::vector<WindowAxis>> axesOf(const BindContext& context, const std::vector<std::int64_t>& image,
                                             const std::vector<std::int64_t>& block)
{
    const std::size_t count = image.size();
    RETRO_TRY(const auto strides, list(context, "strides", count, 1));
    RETRO_TRY(const auto dilations, list(context, "dilations", count, 1));
    RETRO_TRY(const auto pads, list(context, "pads", 2 * count, 0));
    std::vector<WindowAxis> axes(count);
    for (std::size_t i = 0; i < count; ++i) {
        constexpr std::int64_t kMost = 1LL << 30; // sums and products of two still fit
        if (image[i] < 1 || block[i] < 1 || image[i] > kMost || block[i] > kMost) {
            return context.error(fmt::format("a block of {} or an image extent of {} is not between 1 and {}", block[i],
                                             image[i], kMost));
        }
        WindowAxis& axis = axes[i];
        axis = {image[i], 1, block[i], strides[i], dilations[i], pads[i], pads[count + i]};
        const std::int64_t room = axis.image + axis.padBegin + axis.padEnd - axis.span();
        if (room < 0) {
            return context.error(fmt::format("a block of {} does not fit an image extent of {}", block[i], image[i]));
        }
        axis.windows = room / axis.stride + 1;
    }
    return axes;
}

BoundResult bindCol2Im(const BindContext& context)
{
    const TensorType& columns = firstType(context);
    RETRO_TRY(const auto image, context.constantInts(1));
    RETRO_TRY(const auto block, context.constantInts(2));
    if (columns.shape.size() != 3 ||
        (columns.dtype != tensor::DType::Float32 && columns.dtype != tensor::DType::Float64) || image.empty() ||
        image.size() > 3 || block.size() != image.size()) {
        return context.error(
            "floating columns of batch × channels·block × blocks and an image of one to three axes are "
            "needed");
    }
    RETRO_TRY(auto axes, axesOf(context, image, block));
    Shape windows;
    for (const WindowAxis& axis : axes) {
        windows.push_back(axis.windows);
    }
    RETRO_CHECK(expectSize(context, windows));
    RETRO_CHECK(expectSize(context, Shape(block)));
    ConvolutionShape shape{columns.shape[0], 1, 1, 1, std::move(axes)};
    if (columns.shape[1] % shape.taps() != 0 || columns.shape[2] != shape.windowCount()) {
        return context.error(fmt::format("{} columns of {} elements do not fit {} blocks of {}", columns.shape[2],
                                         columns.shape[1], shape.windowCount(), shape.taps()));
    }
    shape.channels = columns.shape[1] / shape.taps();
    Shape output{columns.shape[0], shape.channels};
    output.insert(output.end(), image.begin(), image.end());
    RETRO_CHECK(expectSize(context, output));
    return bound<Col2Im>(TensorType{columns.dtype, std::move(output)}, columns.shape, std::move(shape));
}

} // namespace

const OperatorFamily kCol2ImOperators{
    {"", "Col2Im", 18, 0, "function", true, bindCol2Im},
};

} // namespace retro::ops
