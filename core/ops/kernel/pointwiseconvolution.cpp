// SPDX-License-Identifier: Apache-2.0
#include "core/ops/kernel/pointwiseconvolution.h"

#include <algorithm>
#include <memory>

namespace retro::ops
{

using reference::ConvolutionShape;
using reference::MatrixView;
using reference::WindowAxis;

namespace
{

bool isPointwise(const ConvolutionShape& shape)
{
    return shape.groups == 1 && shape.channels > 0 && shape.filters > 0 &&
           std::ranges::all_of(shape.axes, [](const WindowAxis& axis) {
               return axis.kernel == 1 && axis.padBegin == 0 && axis.padEnd == 0 && axis.windows > 0;
           });
}

bool isStrided(const ConvolutionShape& shape)
{
    return std::ranges::any_of(shape.axes, [](const WindowAxis& axis) { return axis.windows != axis.image; });
}

/// The positions that windows read, one behind the other.
void gatherWindows(const ConvolutionShape& shape, const float* in, float* out)
{
    const std::array<WindowAxis, 3> axes = reference::threeAxes(shape.axes);
    const auto& [planes, rows, columns] = axes;
    parallelFor(shape.batch * planes.windows * rows.windows, 8, [&](std::int64_t begin, std::int64_t end) {
        for (std::int64_t line = begin; line < end; ++line) {
            const std::int64_t plane = line / rows.windows;
            const std::int64_t at =
                ((plane / planes.windows * planes.image + plane % planes.windows * planes.stride) * rows.image +
                 line % rows.windows * rows.stride) *
                columns.image;
            for (std::int64_t i = 0; i < columns.windows; ++i) {
                std::copy_n(in + (at + i * columns.stride) * shape.channels, shape.channels,
                            out + (line * columns.windows + i) * shape.channels);
            }
        }
    });
}

} // namespace

PointwiseConvolution::PointwiseConvolution(const ConvolutionShape& shape, bool isTransposed)
    : m_shape(shape), m_rows(shape.batch * shape.windowCount()), m_isTransposed(isTransposed),
      m_isStrided(isStrided(shape))
{}

std::optional<PointwiseConvolution> PointwiseConvolution::forward(const ConvolutionShape& shape)
{
    return isPointwise(shape) ? std::optional(PointwiseConvolution(shape, false)) : std::nullopt;
}

std::optional<PointwiseConvolution> PointwiseConvolution::transposed(const ConvolutionShape& shape)
{
    return isPointwise(shape) && !isStrided(shape) ? std::optional(PointwiseConvolution(shape, true)) : std::nullopt;
}

MatrixView<float> PointwiseConvolution::weights(const float* weight) const
{
    const MatrixView<float> plain{weight, m_shape.filters, m_shape.channels, m_shape.channels, 1};
    return m_isTransposed ? plain : plain.transposed();
}

tensor::Tensor PointwiseConvolution::pack(const float* weight) const { return packFloats(weights(weight)); }

template <class F>
void PointwiseConvolution::read(const float* in, const F& f) const
{
    const std::int64_t depth = m_isTransposed ? m_shape.filters : m_shape.channels;
    if (!m_isStrided) {
        return f(MatrixView<float>{in, m_rows, depth, depth, 1});
    }
    tensor::TensorBuffer gathered(tensor::DType::Float32, {m_rows, depth});
    gatherWindows(m_shape, in, gathered.data<float>());
    f(MatrixView<float>{gathered.data<float>(), m_rows, depth, depth, 1});
}

void PointwiseConvolution::runPacked(const float* in, const tensor::Tensor& packed, float* out,
                                     const AfterProduct& after) const
{
    const std::int64_t columns = m_isTransposed ? m_shape.channels : m_shape.filters;
    read(in, [&](const MatrixView<float>& a) { multiplyPacked(a, packed, columns, out, columns, after); });
}

void PointwiseConvolution::run(const float* in, const float* weight, float* out, const AfterProduct& after) const
{
    const MatrixView<float> b = weights(weight);
    read(in, [&](const MatrixView<float>& a) { multiplyFloats(a, b, out, b.columns, after); });
}

} // namespace retro::ops
