// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/base/result.h"
#include "core/tensor/tensor.h"

namespace retro::ops
{

/// Integers by which others are divided: none of them is 0. Floats are let through. Errors: Input, without a place.
[[nodiscard]] base::Result<void> expectNoZeroDivisor(const tensor::Tensor& divisor);

} // namespace retro::ops
