// SPDX-License-Identifier: Apache-2.0
#include "core/ops/exactsums.h"

#include "core/ops/kernel/visitnumber.h"
#include "core/ops/kernel/wideregisters.h"

#include <array>
#include <numeric>
#include <type_traits>

namespace retro::ops::algebra
{

namespace
{

using base::ExactSum;
using tensor::Tensor;

constexpr std::int64_t kExactLanes = 4;

template <class T>
ExactSum sumOf(const T* data, std::int64_t count)
{
    std::array<ExactSum, kExactLanes> lanes;
    for (std::int64_t i = 0; i < count; ++i) {
        lanes[static_cast<std::size_t>(i % kExactLanes)].add(static_cast<double>(data[i]));
    }
    for (std::size_t lane = 1; lane < lanes.size(); ++lane) {
        lanes[0].add(lanes[lane]);
    }
    return lanes[0];
}

/// What one addition lost: of floats their difference in double, which holds it.
template <class T>
[[gnu::always_inline]] inline double lostOf(T a, T b, T sum)
{
    if constexpr (std::is_same_v<T, double>) {
        return ExactSum::lost(a, b);
    } else {
        return static_cast<double>(a) + static_cast<double>(b) - static_cast<double>(sum);
    }
}

template <class T>
[[gnu::always_inline]] inline double lostInline(const T* a, const T* b, const T* sum, std::int64_t count)
{
    std::array<double, 8> lost{}; // of errors, which are small: their own rounding does not count
    std::int64_t i = 0;
    for (; i + 8 <= count; i += 8) {
        for (std::int64_t lane = 0; lane < 8; ++lane) {
            lost[static_cast<std::size_t>(lane)] += lostOf(a[i + lane], b[i + lane], sum[i + lane]);
        }
    }
    for (; i < count; ++i) {
        lost[0] += lostOf(a[i], b[i], sum[i]);
    }
    return std::accumulate(lost.begin(), lost.end(), 0.0);
}

RETRO_WIDE_REGISTERS double lostOf(const float* a, const float* b, const float* sum, std::int64_t count)
{
    return lostInline(a, b, sum, count);
}
RETRO_WIDE_REGISTERS double lostOf(const double* a, const double* b, const double* sum, std::int64_t count)
{
    return lostInline(a, b, sum, count);
}

} // namespace

ExactSum exactSum(const Tensor& a)
{
    const Tensor dense = a.isDense() ? a : a.contiguous();
    return visitFloat(a.dtype(), [&](auto zero) { return sumOf(dense.data<decltype(zero)>(), dense.size()); });
}

double lostInSum(const Tensor& a, const Tensor& b, const Tensor& sum)
{
    const bool share = a.isDense() && a.strides() == b.strides() && a.strides() == sum.strides();
    const Tensor left = share ? a : a.contiguous();
    const Tensor right = share ? b : b.contiguous();
    const Tensor total = share ? sum : sum.contiguous();
    return visitFloat(a.dtype(), [&](auto zero) {
        using T = decltype(zero);
        return lostOf(left.data<T>(), right.data<T>(), total.data<T>(), a.size());
    });
}

} // namespace retro::ops::algebra
