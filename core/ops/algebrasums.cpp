// SPDX-License-Identifier: Apache-2.0
#include "core/ops/algebra.h"
#include "core/ops/kernel/visitnumber.h"

#include <cmath>

namespace retro::ops::algebra
{

namespace
{

constexpr std::int64_t kBlock = 256;

DivisionSums operator+(const DivisionSums& a, const DivisionSums& b)
{
    return {a.dividend + b.dividend, a.overZero + b.overZero, a.product + b.product};
}

template <class T>
DivisionSums sumsOfBlock(const T* r, const T* s, const T* d, std::int64_t length)
{
    DivisionSums sums;
    for (std::int64_t i = 0; i < length; ++i) {
        sums.dividend += static_cast<double>(r[i]);
        sums.overZero += d[i] == T{0} ? static_cast<double>(r[i]) : 0.0;
        sums.product +=
            std::isinf(d[i]) ? static_cast<double>(r[i]) : static_cast<double>(s[i]) * static_cast<double>(d[i]);
    }
    return sums;
}

// Halves until blocks are short: the error grows with the logarithm of the length.
template <class T>
DivisionSums pairwiseSums(const T* r, const T* s, const T* d, std::int64_t length)
{
    if (length <= kBlock) {
        return sumsOfBlock(r, s, d, length);
    }
    const std::int64_t half = length / 2;
    return pairwiseSums(r, s, d, half) + pairwiseSums(r + half, s + half, d + half, length - half);
}

} // namespace

DivisionSums divisionSums(const Tensor& r, const Tensor& s, const Tensor& d)
{
    const bool share = r.isDense() && r.strides() == s.strides() && r.strides() == d.strides();
    const Tensor plainR = share ? r : r.contiguous();
    const Tensor plainS = share ? s : s.contiguous();
    const Tensor plainD = share ? d : d.contiguous();
    return visitFloat(r.dtype(), [&](auto zero) {
        using T = decltype(zero);
        return pairwiseSums(plainR.data<T>(), plainS.data<T>(), plainD.data<T>(), r.size());
    });
}

} // namespace retro::ops::algebra
