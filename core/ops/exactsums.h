// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/base/exactsum.h"
#include "core/tensor/tensor.h"

namespace retro::ops::algebra
{

/// Σ a to about 106 bits. float32 or float64.
[[nodiscard]] base::ExactSum exactSum(const tensor::Tensor& a);

} // namespace retro::ops::algebra
