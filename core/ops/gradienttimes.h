// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/ops/algebra.h"

namespace retro::ops::algebra
{

/// gradient ⊙ value, of one shape, and 0 where the gradient is 0, whatever the value is.
[[nodiscard]] inline Tensor gradientTimes(const Tensor& gradient, const Tensor& value)
{
    Tensor product = multiply(gradient, value);
    const bool isMasked = !allFinite(product) && allFinite(gradient);
    return isMasked ? keepWherePositive(product, absolute(gradient)) : product;
}

} // namespace retro::ops::algebra
