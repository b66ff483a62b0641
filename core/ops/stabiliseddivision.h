// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/ops/algebra.h"

#include <optional>

namespace retro::ops::algebra
{

/// A denominator d = base + bias.
struct Denominator
{
    Tensor base;           ///< its memory is used again for the quotient when nobody else holds it
    Tensor bias{};         ///< broadcastable to base; invalid: none
    bool isBiasIn = false; ///< base has the bias in it already: d = base
};

/// What a stabilised division s = r / stab(d) did, in double.
struct DivisionAmounts
{
    DivisionSums sums;
    double bias = 0; ///< Σ s·bias
};

/// s = r / stab(d) as stabilisedQuotient(r, d, stabiliser) gives it, bit for bit, in one walk with the sums that a
/// ledger wants (`amounts` may be null: then none are made). `r` has the shape of base; s lies as base does. `dividend`
/// is Σ r, for whoever has it already.
[[nodiscard]] Tensor stabilisedDivision(const Tensor& r, Denominator denominator, const Stabiliser& stabiliser,
                                        DivisionAmounts* amounts, std::optional<double> dividend = std::nullopt);

} // namespace retro::ops::algebra
