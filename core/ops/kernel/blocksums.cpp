// SPDX-License-Identifier: Apache-2.0
#include "core/ops/kernel/blocksums.h"

#include "core/base/exactsum.h"
#include "core/ops/kernel/stabilise.h"
#include "core/ops/kernel/wideregisters.h"

#include <cmath>
#include <limits>
#include <type_traits>

namespace retro::ops
{

namespace
{

constexpr std::int64_t kLanes = 16; // independent sums: an addition need not wait for the one before

/// The lanes added pairwise, in their place.
[[gnu::always_inline]] inline double total(double* lanes)
{
    for (std::int64_t half = kLanes / 2; half > 0; half /= 2) {
        for (std::int64_t lane = 0; lane < half; ++lane) {
            lanes[lane] += lanes[lane + half];
        }
    }
    return lanes[0];
}

template <class T>
[[gnu::always_inline]] inline double sumInline(const T* a, std::int64_t count)
{
    double lanes[kLanes]{};
    std::int64_t i = 0;
    for (; i + kLanes <= count; i += kLanes) {
        for (std::int64_t lane = 0; lane < kLanes; ++lane) {
            lanes[lane] += static_cast<double>(a[i + lane]);
        }
    }
    for (std::int64_t lane = 0; i < count; ++i, ++lane) {
        lanes[lane] += static_cast<double>(a[i]);
    }
    return total(lanes);
}

template <class T>
[[gnu::always_inline]] inline double dotInline(const T* a, const T* b, std::int64_t count)
{
    double lanes[kLanes]{};
    std::int64_t i = 0;
    for (; i + kLanes <= count; i += kLanes) {
        for (std::int64_t lane = 0; lane < kLanes; ++lane) {
            lanes[lane] += static_cast<double>(a[i + lane]) * static_cast<double>(b[i + lane]);
        }
    }
    for (std::int64_t lane = 0; i < count; ++i, ++lane) {
        lanes[lane] += static_cast<double>(a[i]) * static_cast<double>(b[i]);
    }
    return total(lanes);
}

template <class T>
[[gnu::always_inline]] inline algebra::SumAndMagnitude magnitudeInline(const T* a, std::int64_t count)
{
    double lanes[kLanes]{};
    std::int64_t i = 0;
    for (; i + kLanes <= count; i += kLanes) {
        for (std::int64_t lane = 0; lane < kLanes; ++lane) {
            lanes[lane] += static_cast<double>(std::abs(a[i + lane]));
        }
    }
    for (std::int64_t lane = 0; i < count; ++i, ++lane) {
        lanes[lane] += static_cast<double>(std::abs(a[i]));
    }
    return {sumInline(a, count), total(lanes)}; // two loops: both sums in one do not fill the registers
}

template <class T>
[[gnu::always_inline]] inline void addInline(const T* a, const T* b, T* sum, std::int64_t count)
{
    for (std::int64_t i = 0; i < count; ++i) {
        sum[i] = a[i] + b[i];
    }
}

/// What one addition lost: of floats their difference in double, which holds it.
template <class T>
[[gnu::always_inline]] inline double lostOf(T a, T b, T sum)
{
    if constexpr (std::is_same_v<T, double>) {
        return base::ExactSum::lost(a, b);
    } else {
        return static_cast<double>(a) + static_cast<double>(b) - static_cast<double>(sum);
    }
}

template <class T>
[[gnu::always_inline]] inline double lostInline(const T* a, const T* b, const T* sum, std::int64_t count)
{
    double lanes[kLanes]{}; // of errors, which are small: their own rounding does not count
    std::int64_t i = 0;
    for (; i + kLanes <= count; i += kLanes) {
        for (std::int64_t lane = 0; lane < kLanes; ++lane) {
            lanes[lane] += lostOf(a[i + lane], b[i + lane], sum[i + lane]);
        }
    }
    for (std::int64_t lane = 0; i < count; ++i, ++lane) {
        lanes[lane] += lostOf(a[i], b[i], sum[i]);
    }
    return total(lanes);
}

template <class T>
[[gnu::always_inline]] inline void multiplyInline(T* a, const T* b, T factor, std::int64_t count)
{
    if (factor == T{1}) {
        for (std::int64_t i = 0; i < count; ++i) {
            a[i] *= b[i];
        }
        return;
    }
    for (std::int64_t i = 0; i < count; ++i) {
        a[i] = a[i] * b[i] * factor;
    }
}

template <class T>
[[gnu::always_inline]] inline int isZeroOrInfinity(T value)
{
    return (value == T{0}) | (std::abs(value) > std::numeric_limits<T>::max()) ? 1 : 0;
}

/// By d moved towards its own sign, what nearly everybody uses: written out, so that each width inlines it.
template <class T>
[[gnu::always_inline]] inline bool quotientByMoved(const T* r, const T* d, T e, T* s, std::int64_t count)
{
    int found = 0;
    for (std::int64_t i = 0; i < count; ++i) {
        const T moved = d[i] + (d[i] >= T{0} ? e : -e);
        const T q = r[i] / moved;
        found |= isZeroOrInfinity(d[i]); // before it may be written over
        s[i] = moved == T{0} ? T{0} : q;
    }
    return found != 0;
}

template <class T>
[[gnu::always_inline]] inline bool quotientInline(const T* r, const T* d, const algebra::Stabiliser& stabiliser, T* s,
                                                  std::int64_t count)
{
    const T e = static_cast<T>(stabiliser.epsilon);
    if (stabiliser.kind == algebra::StabiliserKind::Add && stabiliser.isSigned) {
        return quotientByMoved(r, d, e, s, count);
    }
    int found = 0;
    for (std::int64_t i = 0; i < count; ++i) {
        found |= isZeroOrInfinity(d[i]);
    }
    visitStabiliser<T>(stabiliser, [&](auto stabilised) {
        for (std::int64_t i = 0; i < count; ++i) {
            s[i] = quotient(r[i], stabilised(d[i], e));
        }
    });
    return found != 0;
}

} // namespace

RETRO_WIDE_REGISTERS double blockSum(const float* a, std::int64_t count) { return sumInline(a, count); }
RETRO_WIDE_REGISTERS double blockSum(const double* a, std::int64_t count) { return sumInline(a, count); }

RETRO_WIDE_REGISTERS double blockDot(const float* a, const float* b, std::int64_t count)
{
    return dotInline(a, b, count);
}
RETRO_WIDE_REGISTERS double blockDot(const double* a, const double* b, std::int64_t count)
{
    return dotInline(a, b, count);
}

RETRO_WIDE_REGISTERS algebra::SumAndMagnitude blockMagnitude(const float* a, std::int64_t count)
{
    return magnitudeInline(a, count);
}
RETRO_WIDE_REGISTERS algebra::SumAndMagnitude blockMagnitude(const double* a, std::int64_t count)
{
    return magnitudeInline(a, count);
}

RETRO_WIDE_REGISTERS double blockLost(const float* a, const float* b, const float* sum, std::int64_t count)
{
    return lostInline(a, b, sum, count);
}
RETRO_WIDE_REGISTERS double blockLost(const double* a, const double* b, const double* sum, std::int64_t count)
{
    return lostInline(a, b, sum, count);
}

RETRO_WIDE_REGISTERS void blockMultiply(float* a, const float* b, float factor, std::int64_t count)
{
    multiplyInline(a, b, factor, count);
}
RETRO_WIDE_REGISTERS void blockMultiply(double* a, const double* b, double factor, std::int64_t count)
{
    multiplyInline(a, b, factor, count);
}

RETRO_WIDE_REGISTERS void blockAdd(const float* a, const float* b, float* sum, std::int64_t count)
{
    addInline(a, b, sum, count);
}
RETRO_WIDE_REGISTERS void blockAdd(const double* a, const double* b, double* sum, std::int64_t count)
{
    addInline(a, b, sum, count);
}

RETRO_WIDE_REGISTERS bool blockQuotient(const float* r, const float* d, const algebra::Stabiliser& stabiliser, float* s,
                                        std::int64_t count)
{
    return quotientInline(r, d, stabiliser, s, count);
}
RETRO_WIDE_REGISTERS bool blockQuotient(const double* r, const double* d, const algebra::Stabiliser& stabiliser,
                                        double* s, std::int64_t count)
{
    return quotientInline(r, d, stabiliser, s, count);
}

} // namespace retro::ops
