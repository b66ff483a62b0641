// SPDX-License-Identifier: Apache-2.0
#include "core/ops/kernel/pointwiseconvolution.h"

#include <algorithm>
#include <span>
#include <vector>

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
    const WindowAxis& planes = axes[0];
    const WindowAxis& rows = axes[1];
    const WindowAxis& columns = axes[2];
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

/// Positions that are not 0 in all channels, where they are at most half of all: what one element of a picture reaches
/// is a small part of a layer. None else; a NaN is something.
std::optional<std::vector<std::int64_t>> fewPositions(const MatrixView<float>& a)
{
    const std::int64_t most = a.rows / 2;
    std::vector<std::int64_t> places;
    for (std::int64_t row = 0; row < a.rows; ++row) {
        const float* const first = a.data + row * a.rowStride;
        if (std::any_of(first, first + a.columns, [](float value) { return value != 0; })) {
            if (std::ssize(places) == most) {
                return std::nullopt;
            }
            places.push_back(row);
        }
    }
    return places;
}

/// A product of the rows at `places` and of one row of zeros, whose result all others have (NaN, where weights are not
/// finite). Each row has the bits that it has among all.
template <class F>
void multiplyFew(const MatrixView<float>& a, std::span<const std::int64_t> places, std::int64_t columns, float* out,
                 const F& multiply)
{
    const std::int64_t count = std::ssize(places);
    tensor::TensorBuffer from(tensor::DType::Float32, {count + 1, a.columns});
    tensor::TensorBuffer to(tensor::DType::Float32, {count + 1, columns});
    float* next = from.data<float>();
    for (const std::int64_t place : places) {
        next = std::copy_n(a.data + place * a.rowStride, a.columns, next);
    }
    std::fill_n(next, a.columns, 0.0F);
    multiply(MatrixView<float>{from.data<float>(), count + 1, a.columns, a.columns, 1}, to.data<float>());
    const float* result = to.data<float>();
    const float* const ofZeros = result + count * columns;
    auto place = places.begin();
    for (std::int64_t row = 0; row < a.rows; ++row) {
        const bool isOwn = place != places.end() && *place == row;
        std::copy_n(isOwn ? result : ofZeros, columns, out + row * columns);
        result += isOwn ? columns : 0;
        place += isOwn ? 1 : 0;
    }
}

/// multiply(the matrix that is read, where the product goes), without positions that are 0 where those are many.
template <class F>
void multiplyPositions(const MatrixView<float>& a, std::int64_t columns, float* out, const AfterProduct& after,
                       const F& multiply)
{
    const bool isPlain = after.perColumn == nullptr && after.rows == nullptr;
    const auto places = isPlain ? fewPositions(a) : std::nullopt;
    if (places) {
        multiplyFew(a, *places, columns, out, multiply);
    } else {
        multiply(a, out);
    }
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
    read(in, [&](const MatrixView<float>& all) {
        multiplyPositions(all, columns, out, after, [&](const MatrixView<float>& a, float* to) {
            multiplyPacked(a, packed, columns, to, columns, after);
        });
    });
}

void PointwiseConvolution::run(const float* in, const float* weight, float* out, const AfterProduct& after) const
{
    const MatrixView<float> b = weights(weight);
    read(in, [&](const MatrixView<float>& all) {
        multiplyPositions(all, b.columns, out, after,
                          [&](const MatrixView<float>& a, float* to) { multiplyFloats(a, b, to, b.columns, after); });
    });
}

} // namespace retro::ops
