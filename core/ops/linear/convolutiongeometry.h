// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/ops/bind/bindcheck.h"
#include "core/ops/reference/convolution.h"

namespace retro::ops
{

/// Which operands are weights and bias; the image is operand 0.
struct ConvolutionSlots
{
    std::size_t weight = 1;
    std::size_t bias = 2;
};

/// A convolution with all extents known.
struct ConvolutionGeometry
{
    reference::ConvolutionShape shape;
    tensor::Shape output;
};

/// Kernel extents from the weights, checked against kernel_shape.
[[nodiscard]] base::Result<std::vector<std::int64_t>> kernelOf(const BindContext& context,
                                                               const ConvolutionSlots& slots);

/// Number of groups; groups divide, channels and bias fit the weights.
[[nodiscard]] base::Result<std::int64_t> groupsOf(const BindContext& context, const ConvolutionSlots& slots,
                                                  bool isTransposed);

/// Geometry of a Conv, QLinearConv or ConvInteger by its attributes and operand types.
[[nodiscard]] base::Result<ConvolutionGeometry> convolutionGeometry(const BindContext& context,
                                                                    const ConvolutionSlots& slots);

} // namespace retro::ops
