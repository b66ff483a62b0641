// SPDX-License-Identifier: Apache-2.0
#include "core/ops/signsupport.h"

#include "core/base/failure.h"
#include "core/ops/kernel/elementloop.h"
#include "core/ops/kernel/visitnumber.h"
#include "core/ops/kernel/wideregisters.h"

#include <algorithm>

namespace retro::ops::algebra
{

using tensor::Tensor;

namespace
{

constexpr std::int64_t kBlock = 4096;

template <class T>
[[gnu::always_inline]] inline SignSupport supportInline(const T* value, const T* sign, std::int64_t count)
{
    int onNegative = 0;
    int onZero = 0;
    for (std::int64_t i = 0; i < count; ++i) { // without a branch, so that it vectorises
        const int isThere = static_cast<int>(value[i] != T{0});
        const int isNegative = static_cast<int>(sign[i] < T{0});
        const int isPositive = static_cast<int>(sign[i] > T{0});
        onNegative |= isThere & isNegative;
        onZero |= isThere & (1 - (isNegative | isPositive));
    }
    const SignSupport elsewhere = onZero != 0 ? SignSupport::Zero : SignSupport::Positive;
    return onNegative != 0 ? SignSupport::Negative : elsewhere;
}

RETRO_WIDE_REGISTERS SignSupport blockSupport(const float* value, const float* sign, std::int64_t count)
{
    return supportInline(value, sign, count);
}

RETRO_WIDE_REGISTERS SignSupport blockSupport(const double* value, const double* sign, std::int64_t count)
{
    return supportInline(value, sign, count);
}

template <class T>
SignSupport supportOf(const T* value, const T* sign, std::int64_t count)
{
    SignSupport support = SignSupport::Positive;
    for (std::int64_t at = 0; at < count && support != SignSupport::Negative; at += kBlock) {
        support = std::max(support, blockSupport(value + at, sign + at, std::min(kBlock, count - at)));
    }
    return support;
}

} // namespace

SignSupport signSupport(const Tensor& values, const Tensor& gate)
{
    base::guard(values.shape() == gate.shape(), "values and their gate have one shape");
    const Tensor signs = gate.isDense() ? gate : gate.contiguous();
    const Tensor there = withStrides(values, signs.strides());
    return visitFloat(values.dtype(), [&](auto zero) {
        using T = decltype(zero);
        return supportOf(there.data<T>(), signs.data<T>(), values.size());
    });
}

} // namespace retro::ops::algebra
