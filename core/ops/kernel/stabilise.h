// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/ops/algebra.h"

#include <algorithm>
#include <cmath>

namespace retro::ops
{

/// r / d, but 0 where d is 0. Without a branch, so that loops over it vectorise.
template <class T>
T quotient(T r, T d)
{
    const T q = r / d;
    return d == T{0} ? T{0} : q;
}

/// d moved away from zero by e, towards its own sign; sgn(0) = +1.
template <class T>
T moved(T d, T e)
{
    return d + (d >= T{0} ? e : -e);
}

/// At least e away from zero, on the side of y.
template <class T>
T clipped(T y, T e)
{
    const T magnitude = std::max(std::abs(y), e);
    return y >= T{0} ? magnitude : -magnitude;
}

/// f(stab) with what a stabiliser of a constant step does to a denominator: stab(d, e) → T. One instantiation for each
/// way, so that the choice stands outside of the loop in f.
template <class T, class F>
auto visitStabiliser(const algebra::Stabiliser& stabiliser, const F& f)
{
    const bool clips = stabiliser.kind == algebra::StabiliserKind::Clip;
    if (stabiliser.isSigned) {
        return clips ? f([](T y, T step) { return clipped(y, step); }) : f([](T y, T step) { return moved(y, step); });
    }
    return clips ? f([](T y, T step) { return y > step ? y : step; }) : f([](T y, T step) { return y + step; });
}

} // namespace retro::ops
