// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/base/exactsum.h"
#include "core/tensor/tensor.h"

namespace retro::ops::algebra
{

/// Σ a to about 106 bits. float32 or float64.
[[nodiscard]] base::ExactSum exactSum(const tensor::Tensor& a);

/// Σ (a + b − sum), each element exact: what adding `a` and `b` lost in their `sum`. Equal types and shapes. Elements
/// that are not finite make it so.
[[nodiscard]] double lostInSum(const tensor::Tensor& a, const tensor::Tensor& b, const tensor::Tensor& sum);

} // namespace retro::ops::algebra
