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

/// A tensor and its sums.
struct SummedTensor
{
    tensor::Tensor tensor;
    SumAndMagnitude sums;
};
/// a·b as multiplyOver() of algebraover.h gives it and its sums as sumAndMagnitude() gives them, bit for bit, while the
/// products are in a cache.
[[nodiscard]] SummedTensor multiplyAndSum(tensor::Tensor a, const tensor::Tensor& b);

} // namespace retro::ops::algebra
