// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/ops/kernel/floatproduct.h"
#include "core/ops/reference/convolutionshape.h"

#include <optional>

namespace retro::ops
{

/// A convolution of one tap and one group without padding, in channels-last order: a product of the matrix of positions
/// × channels with the weights. No code is generated for it, and each position has the bits that it has alone.
class PointwiseConvolution
{
public:
    /// From image to result; none where the convolution is not of this kind.
    [[nodiscard]] static std::optional<PointwiseConvolution> forward(const reference::ConvolutionShape& shape);
    /// The transposed map, from result to image; none also where it has strides.
    [[nodiscard]] static std::optional<PointwiseConvolution> transposed(const reference::ConvolutionShape& shape);

    /// Row-major weights, filters × channels, packed for many uses.
    [[nodiscard]] tensor::Tensor pack(const float* weight) const;
    /// With what pack() gave.
    void runPacked(const float* in, const tensor::Tensor& packed, float* out, const AfterProduct& after) const;
    /// With weights as they are; the same bits.
    void run(const float* in, const float* weight, float* out, const AfterProduct& after) const;

private:
    PointwiseConvolution(const reference::ConvolutionShape& shape, bool isTransposed);

    [[nodiscard]] reference::MatrixView<float> weights(const float* weight) const;
    /// f(the matrix of what is read).
    template <class F>
    void read(const float* in, const F& f) const;

    reference::ConvolutionShape m_shape;
    std::int64_t m_rows = 0;
    bool m_isTransposed;
    bool m_isStrided = false;
};

} // namespace retro::ops
