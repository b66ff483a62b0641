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
/// a·b·factor as multiplyScaledOver() of algebraover.h gives it and its sums as sumAndMagnitude() gives them, bit for
/// bit, while the products are in a cache.
[[nodiscard]] SummedTensor multiplyAndSum(tensor::Tensor a, const tensor::Tensor& b, double factor = 1);

/// Σ (a + b − sum), each element exact: what adding `a` and `b` lost in their `sum`. Equal types and shapes. Elements
/// that are not finite make it so.
[[nodiscard]] double lostInSum(const tensor::Tensor& a, const tensor::Tensor& b, const tensor::Tensor& sum);

/// A sum of two tensors, its own sums, and what adding lost.
struct SummedAddition
{
    tensor::Tensor tensor;
    SumAndMagnitude sums;
    double lost = 0;
};
/// a + b as add() of algebra.h gives it, its sums as sumAndMagnitude() and lostInSum() give them, bit for bit, while
/// the elements are in a cache. Equal types and shapes.
[[nodiscard]] SummedAddition addAndSum(const tensor::Tensor& a, const tensor::Tensor& b);

} // namespace retro::ops::algebra
