// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/lrp/rules/linearrule.h"

namespace retro::lrp
{

/// J·v: per output, what a small step along `v` (per operand slot, in the operand's shape; invalid = zero) changes. The
/// transpose of gradientPart(). Where derivativeFault() is empty.
[[nodiscard]] std::vector<Tensor> alongDerivative(const WeighContext& context, std::span<const Tensor> v);
/// Why alongDerivative() is not known for an operator, in words; empty when it is.
[[nodiscard]] std::string derivativeFault(const ops::BoundOperator& op, std::span<const std::uint8_t> tracked);
/// A shape map on the weights of its operands, without signs: 0 from constants and in what fills up. The transpose of
/// carriedBack().
[[nodiscard]] std::vector<Tensor> carriedForward(const WeighContext& context);
/// t broadcast to the shape of the first result.
[[nodiscard]] Tensor asResult(const WeighContext& context, const Tensor& t);
/// Adds `part` to `sum`, either of which may be invalid = zero.
void addTo(Tensor& sum, const Tensor& part);
/// One list with `first`, and nothing at the other outputs.
[[nodiscard]] std::vector<Tensor> onlyFirst(const WeighContext& context, Tensor first);

} // namespace retro::lrp
