// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/ops/kernel/vectormath.h"

#include <cmath>

namespace retro::ops
{

/// 1 / (1 + e⁻ˣ). In float at least 1.6e−38.
template <class T>
[[nodiscard]] T logistic(T x)
{
    if constexpr (std::is_same_v<T, float>) {
        return std::isnan(x) ? x : vectorised::logisticOfNumber(x);
    } else {
        const T decay = std::exp(-std::abs(x)); // of a number that is not positive, so that it does not overflow
        return (x >= T{0} ? T{1} : decay) / (T{1} + decay);
    }
}

/// x · 1 / (1 + e⁻ᵃˣ). NaN stays NaN without a question of its own.
template <class T>
[[nodiscard]] T timesLogistic(T x, T a)
{
    if constexpr (std::is_same_v<T, float>) {
        return x * vectorised::logisticOfNumber(a * x);
    } else {
        return x * logistic(a * x);
    }
}

} // namespace retro::ops
