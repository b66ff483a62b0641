// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/ops/kernel/vectormath.h"

#include <cmath>

namespace retro::ops
{

/// 1 / (1 + e⁻ˣ) by the exponential of a number that is not positive, which never overflows.
template <class T>
[[nodiscard]] T logistic(T x)
{
    const T decay = fastExpBelowZero(-std::abs(x));
    return (x >= T{0} ? T{1} : decay) / (T{1} + decay);
}

} // namespace retro::ops
