// SPDX-License-Identifier: Apache-2.0
#include "core/ops/algebraover.h"

#include "core/ops/kernel/mapover.h"
#include "core/ops/kernel/visitnumber.h"

namespace retro::ops::algebra
{

using tensor::Tensor;

Tensor addOver(Tensor a, const Tensor& b)
{
    return visitFloat(a.dtype(), [&](auto zero) {
        using T = decltype(zero);
        return mapOver<T>(std::move(a), b, Vectorised{[](T x, T y) { return static_cast<T>(x + y); }});
    });
}

Tensor scaleOver(Tensor a, double factor)
{
    return visitFloat(a.dtype(), [&](auto zero) {
        using T = decltype(zero);
        const T f = static_cast<T>(factor);
        return mapOver<T>(std::move(a), Vectorised{[f](T x) { return static_cast<T>(x * f); }});
    });
}

Tensor multiplyOver(Tensor a, const Tensor& b)
{
    return visitFloat(a.dtype(), [&](auto zero) {
        using T = decltype(zero);
        return mapOver<T>(std::move(a), b, Vectorised{[](T x, T y) { return static_cast<T>(x * y); }});
    });
}

Tensor multiplyScaledOver(Tensor a, const Tensor& b, double factor)
{
    if (factor == 1) {
        return multiplyOver(std::move(a), b);
    }
    return visitFloat(a.dtype(), [&](auto zero) {
        using T = decltype(zero);
        const T f = static_cast<T>(factor);
        return mapOver<T>(std::move(a), b,
                          Vectorised{[f](T x, T y) { return static_cast<T>(static_cast<T>(x * y) * f); }});
    });
}

Tensor addScaledOver(Tensor a, const Tensor& b, double factor)
{
    return visitFloat(a.dtype(), [&](auto zero) {
        using T = decltype(zero);
        const T f = static_cast<T>(factor);
        return mapOver<T>(std::move(a), b, Vectorised{[f](T x, T y) { return static_cast<T>(x + f * y); }});
    });
}

} // namespace retro::ops::algebra
