// SPDX-License-Identifier: Apache-2.0
#include "core/ops/signsupport.h"

#include "core/ops/kernel/elementloop.h"
#include "core/ops/kernel/visitnumber.h"

namespace retro::ops::algebra
{

using tensor::Tensor;

namespace
{

template <class T>
SignSupport supportOf(const T* value, const T* sign, std::int64_t count)
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
    return {onNegative != 0, onZero != 0};
}

} // namespace

SignSupport signSupport(const Tensor& values, const Tensor& gate)
{
    assert(values.shape() == gate.shape());
    const Tensor signs = gate.isDense() ? gate : gate.contiguous();
    const Tensor there = withStrides(values, signs.strides());
    return visitFloat(values.dtype(), [&](auto zero) {
        using T = decltype(zero);
        return supportOf(there.data<T>(), signs.data<T>(), values.size());
    });
}

} // namespace retro::ops::algebra
