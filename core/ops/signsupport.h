// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/tensor/tensor.h"

#include <cstdint>

namespace retro::ops::algebra
{

/// Where a tensor is not 0, by the sign of another.
enum class SignSupport : std::uint8_t {
    Positive, ///< nowhere but where the other is above 0
    Zero,     ///< also where it is neither below nor above 0
    Negative  ///< also where it is below 0
};

/// Of `values` by the sign of `gate`; equal shapes. Stops at the first value where the gate is below 0.
[[nodiscard]] SignSupport signSupport(const tensor::Tensor& values, const tensor::Tensor& gate);

} // namespace retro::ops::algebra
