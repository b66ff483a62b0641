// SPDX-License-Identifier: Apache-2.0
#include "core/ops/signsupport.h"

#include "core/ops/kernel/elementloop.h"
#include "core/ops/kernel/visitnumber.h"

namespace retro::ops::algebra
{

using tensor::Tensor;

SignSupport signSupport(const Tensor& values, const Tensor& gate)
{
    assert(values.shape() == gate.shape());
    const Tensor signs = gate.isDense() ? gate : gate.contiguous();
    const Tensor there = withStrides(values, signs.strides());
    return visitFloat(values.dtype(), [&](auto zero) {
        using T = decltype(zero);
        const T* const value = there.data<T>();
        const T* const sign = signs.data<T>();
        int onNegative = 0;
        int onZero = 0;
        for (std::int64_t i = 0; i < values.size(); ++i) {
            const int isThere = value[i] != T{0} ? 1 : 0;
            const int isNegative = sign[i] < T{0} ? 1 : 0;
            const int isPositive = sign[i] > T{0} ? 1 : 0;
            onNegative |= isThere & isNegative;
            onZero |= isThere & ~(isNegative | isPositive);
        }
        return SignSupport{onNegative != 0, (onZero & 1) != 0};
    });
}

} // namespace retro::ops::algebra
