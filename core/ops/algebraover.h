// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/tensor/tensor.h"

#include <utility>

namespace retro::ops::algebra
{

// As the functions of algebra.h, bit for bit, for a tensor that the caller has just got from an operator and gives
// away: the result takes its memory unless somebody else holds it. b broadcasts to a's shape.

[[nodiscard]] tensor::Tensor addOver(tensor::Tensor a, const tensor::Tensor& b);
[[nodiscard]] tensor::Tensor multiplyOver(tensor::Tensor a, const tensor::Tensor& b);
/// a·b·factor; the factor 1 costs nothing.
[[nodiscard]] tensor::Tensor multiplyScaledOver(tensor::Tensor a, const tensor::Tensor& b, double factor);
/// a + factor·b.
[[nodiscard]] tensor::Tensor addScaledOver(tensor::Tensor a, const tensor::Tensor& b, double factor);
/// own + γ·p and own + γ·(own − p), of equal shapes: both sums of weights with a positive and with a negative part
/// scaled by 1 + γ, where `own` is the sum with the plain weights and `p` that with their positive part.
[[nodiscard]] std::pair<tensor::Tensor, tensor::Tensor> gammaSumsOver(tensor::Tensor own, tensor::Tensor p,
                                                                      double gamma);

} // namespace retro::ops::algebra
