// SPDX-License-Identifier: Apache-2.0
#include "core/ops/algebra.h"
#include "core/ops/kernel/elementloop.h"
#include "core/ops/kernel/logistic.h"
#include "core/ops/kernel/visitnumber.h"

namespace retro::ops::algebra
{

Tensor sigmoid(const Tensor& a)
{
    return visitFloat(a.dtype(), [&](auto zero) {
        using T = decltype(zero);
        return mapElements<T>(a, [](T x) { return logistic(x); });
    });
}

Tensor exponential(const Tensor& a)
{
    return visitFloat(a.dtype(), [&](auto zero) {
        using T = decltype(zero);
        return mapElements<T>(a, [](T x) { return std::exp(x); });
    });
}

} // namespace retro::ops::algebra
