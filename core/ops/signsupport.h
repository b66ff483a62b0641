// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/tensor/tensor.h"

namespace retro::ops::algebra
{

/// Where a tensor is not 0, by the sign of another.
struct SignSupport
{
    bool onNegative = false; ///< somewhere the other is below 0
    bool onZero = false;     ///< somewhere it is neither below nor above 0
};

/// Of `values` by the sign of `gate`; equal shapes.
[[nodiscard]] SignSupport signSupport(const tensor::Tensor& values, const tensor::Tensor& gate);

} // namespace retro::ops::algebra
