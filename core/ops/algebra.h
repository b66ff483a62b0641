// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/tensor/tensor.h"

#include <cstdint>

/// Element-wise algebra over tensors of one floating type, for relevance rules: no rule ever sees an element type.
/// Operands have equal shapes unless said otherwise; results take the strides of the first operand when it is dense.
/// Fixed order of reduction, so equal inputs give equal bits, whatever the number of threads.
namespace retro::ops::algebra
{

using tensor::Tensor;

/// Kind of stabiliser of a denominator D (docs/composites.md, "Numerical switches").
enum class StabiliserKind : std::uint8_t {
    Add,      ///< D + e·sgn(D), sgn(0) = +1
    Clip,     ///< sgn(D)·max(|D|, e)
    RmsScaled ///< e times the root mean square of D over all but the first axis, added as in Add
};

struct Stabiliser
{
    StabiliserKind kind = StabiliserKind::Add;
    double epsilon = 1e-6;
    bool isSigned = true; ///< false: D + e whatever the sign of D
    bool operator==(const Stabiliser&) const = default;
};

/// r / stab(d), with 0 where the stabilised denominator is exactly 0. `r` and `d` of equal shape.
[[nodiscard]] Tensor stabilisedQuotient(const Tensor& r, const Tensor& d, const Stabiliser& stabiliser);

/// a·b, a + b, a − b, a·factor.
[[nodiscard]] Tensor multiply(const Tensor& a, const Tensor& b);
[[nodiscard]] Tensor add(const Tensor& a, const Tensor& b);
[[nodiscard]] Tensor subtract(const Tensor& a, const Tensor& b);
[[nodiscard]] Tensor scale(const Tensor& a, double factor);
/// a + factor·b.
[[nodiscard]] Tensor addScaled(const Tensor& a, const Tensor& b, double factor);
/// a + v broadcast (v's shape broadcastable to a's); for biases.
[[nodiscard]] Tensor addBroadcast(const Tensor& a, const Tensor& v);
[[nodiscard]] Tensor multiplyBroadcast(const Tensor& a, const Tensor& v);
[[nodiscard]] Tensor absolute(const Tensor& a);
/// max(a, 0), min(a, 0).
[[nodiscard]] Tensor positivePart(const Tensor& a);
[[nodiscard]] Tensor negativePart(const Tensor& a);
/// exp(a).
[[nodiscard]] Tensor exponential(const Tensor& a);
/// 1 / (1 + exp(−a)).
[[nodiscard]] Tensor sigmoid(const Tensor& a);
/// True when an element is below zero (stops at the first).
[[nodiscard]] bool anyNegative(const Tensor& a);
/// a where gate > 0 (strict), else 0; and where gate < 0.
[[nodiscard]] Tensor keepWherePositive(const Tensor& a, const Tensor& gate);
[[nodiscard]] Tensor keepWhereNegative(const Tensor& a, const Tensor& gate);
/// a repeated to `shape` by broadcasting rules (a copy).
[[nodiscard]] Tensor broadcastTo(const Tensor& a, const tensor::Shape& shape);
/// Sum over the axes along which `shape` was broadcast to a's shape: undoes broadcastTo for relevance and gradients.
[[nodiscard]] Tensor reduceTo(const Tensor& a, const tensor::Shape& shape);
/// a with the strides of `like`, a dense tensor of its shape; a itself where it has them or `like` is another.
[[nodiscard]] Tensor laidOutAs(const Tensor& a, const Tensor& like);
/// Zeros / ones / constant in the type, shape and strides of `like`.
[[nodiscard]] Tensor filledLike(const Tensor& like, double value);

/// Σ a, Σ |a|, Σ a·b in double, pairwise in a fixed order.
[[nodiscard]] double sum(const Tensor& a);
[[nodiscard]] double sumAbsolute(const Tensor& a);
[[nodiscard]] double dot(const Tensor& a, const Tensor& b);
/// What a stabilised division s = r / stab(d) did, in double: Σ r, Σ r where d is exactly 0, and Σ s·d.
struct DivisionSums
{
    double dividend = 0;
    double overZero = 0;
    double product = 0;
};
/// Summed pairwise in one pass; equal shapes.
[[nodiscard]] DivisionSums divisionSums(const Tensor& r, const Tensor& s, const Tensor& d);
/// True when every element is finite.
[[nodiscard]] bool allFinite(const Tensor& a);

} // namespace retro::ops::algebra
