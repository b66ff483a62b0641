// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/ops/boundoperator.h"

#include <utility>

namespace retro::ops
{

/// An integer of at most 16 bits, or a float of at most 8 with a sign.
[[nodiscard]] bool isQuantised(tensor::DType type);
/// Least and largest number of such a type, which must be an integer type.
[[nodiscard]] std::pair<double, double> limitsOf(tensor::DType type);

/// Zero points in double, as many as there are scales; zeros when operand `slot` is absent.
[[nodiscard]] Tensor zeroPoints(std::span<const Tensor> operands, std::size_t slot, const Tensor& scale);

/// Operand `slot` in double, less its zero point (operand `zeroSlot`, when given), whose shape `zeroShape` broadcasts
/// to the operand's.
[[nodiscard]] Tensor shifted(std::span<const Tensor> operands, std::size_t slot, std::size_t zeroSlot,
                             const tensor::Shape& zeroShape);

/// saturate(round(values·factor) + zero) in `type`, halves rounded to even. `factor` and `zero` broadcast to values.
[[nodiscard]] Tensor requantised(const Tensor& values, const Tensor& factor, const Tensor& zero, tensor::DType type);

} // namespace retro::ops
