// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/tensor/tensor.h"

namespace retro::ops::algebra
{

/// Σ a and Σ |a|, as sum() and sumAbsolute() of algebra.h give them, in one pass.
struct SumAndMagnitude
{
    double sum = 0;
    double magnitude = 0;
};
/// Both sums of a floating tensor.
[[nodiscard]] SumAndMagnitude sumAndMagnitude(const tensor::Tensor& a);

} // namespace retro::ops::algebra
