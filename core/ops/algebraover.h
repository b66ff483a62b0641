// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/tensor/tensor.h"

namespace retro::ops::algebra
{

// As the functions of algebra.h, bit for bit, for a tensor that the caller has just got from an operator and gives
// away: the result takes its memory unless somebody else holds it. b broadcasts to a's shape.

[[nodiscard]] tensor::Tensor addOver(tensor::Tensor a, const tensor::Tensor& b);
[[nodiscard]] tensor::Tensor scaleOver(tensor::Tensor a, double factor);
[[nodiscard]] tensor::Tensor multiplyOver(tensor::Tensor a, const tensor::Tensor& b);
/// a·b·factor; the factor 1 costs nothing.
[[nodiscard]] tensor::Tensor multiplyScaledOver(tensor::Tensor a, const tensor::Tensor& b, double factor);
/// a + factor·b.
[[nodiscard]] tensor::Tensor addScaledOver(tensor::Tensor a, const tensor::Tensor& b, double factor);

} // namespace retro::ops::algebra
