// SPDX-License-Identifier: Apache-2.0
#include "core/ops/kernel/exponentialrow.h"

#include "core/ops/kernel/vectormath.h"
#include "core/ops/kernel/wideregisters.h"

#include <algorithm>
#include <array>
#include <limits>

namespace retro::ops
{

namespace
{

/// The largest element; NaN is passed over. Lanes stand beside each other, so that no element waits for the one before.
template <class T>
[[gnu::always_inline]] inline T largestInline(const T* x, std::int64_t length)
{
    constexpr std::int64_t kBesides = 32;
    std::array<T, kBesides> lanes;
    lanes.fill(-std::numeric_limits<T>::infinity());
    const std::int64_t whole = length - length % kBesides;
    for (std::int64_t i = 0; i < whole; i += kBesides) {
        for (std::int64_t lane = 0; lane < kBesides; ++lane) {
            T& largest = lanes[static_cast<std::size_t>(lane)];
            largest = largest < x[i + lane] ? x[i + lane] : largest;
        }
    }
    T largest = -std::numeric_limits<T>::infinity();
    for (const T lane : lanes) {
        largest = std::max(largest, lane);
    }
    for (std::int64_t i = whole; i < length; ++i) {
        largest = std::max(largest, x[i]);
    }
    return largest;
}

template <class T>
[[gnu::always_inline]] inline void exponentialsInline(const T* x, T shift, T* y, std::int64_t length)
{
    for (std::int64_t i = 0; i < length; ++i) {
        y[i] = fastExp(x[i] - shift);
    }
}

} // namespace

RETRO_WIDE_REGISTERS float largestOf(const float* x, std::int64_t length) { return largestInline(x, length); }
RETRO_WIDE_REGISTERS double largestOf(const double* x, std::int64_t length) { return largestInline(x, length); }

RETRO_WIDE_REGISTERS void exponentials(const float* x, float shift, float* y, std::int64_t length)
{
    exponentialsInline(x, shift, y, length);
}
RETRO_WIDE_REGISTERS void exponentials(const double* x, double shift, double* y, std::int64_t length)
{
    exponentialsInline(x, shift, y, length);
}

} // namespace retro::ops
