// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/ops/stabiliseddivision.h"

namespace retro::ops::algebra
{

/// What the gamma rule divides by where no input x is negative: with own = z − b,
/// own + γ·p + up where z > 0, and own + γ·(own − p) + down where z < 0. Each is used where z has the sign of its
/// second term, so nothing cancels.
struct GammaDenominators
{
    Tensor z; ///< x·W + b
    Tensor p; ///< x·W⁺, shape of z; its memory is used again when nobody else holds it
    double gamma = 0;
    Tensor bias{}; ///< b, broadcastable to z as the next two are; invalid: none
    Tensor up{};   ///< bias of the first denominator; invalid: none
    Tensor down{}; ///< bias of the second; invalid: none
};

/// Both quotients, in the shape of z, 0 where the other is meant.
struct GammaQuotients
{
    Tensor onPositive; ///< r / stab(first denominator) where z > 0
    Tensor onNegative; ///< r / stab(second denominator) where z < 0
    DivisionAmounts positive;
    DivisionAmounts negative;
    double atZero = 0; ///< Σ r where z is neither
};

/// `r` has the shape of z; amounts are made when they are wanted. In one walk for dense tensors and a stabiliser of a
/// constant step, with the bits of the steps.
[[nodiscard]] GammaQuotients gammaDivision(const Tensor& r, GammaDenominators denominators,
                                           const Stabiliser& stabiliser, bool wantsAmounts);

} // namespace retro::ops::algebra
