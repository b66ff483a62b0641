// SPDX-License-Identifier: Apache-2.0
#include "core/ops/algebra.h"
#include "core/ops/kernel/elementloop.h"
#include "core/ops/kernel/visitnumber.h"

#include <cmath>

namespace retro::ops::algebra
{

namespace
{

// The exponential of a number that is not positive: never overflows.
template <class T>
T logistic(T x)
{
    const T decay = std::exp(-std::abs(x));
    return (x >= T{0} ? T{1} : decay) / (T{1} + decay);
}

} // namespace

Tensor sigmoid(const Tensor& a)
{
    return visitFloat(a.dtype(), [&](auto zero) {
        using T = decltype(zero);
        return mapElements<T>(a, [](T x) { return logistic(x); });
    });
}

} // namespace retro::ops::algebra
