// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/base/failure.h"
#include "core/tensor/dtype.h"

#include <type_traits>

namespace retro::ops
{

/// Calls f(T{}) for float32 or float64.
template <class F>
auto visitFloat(tensor::DType type, const F& f)
{
    base::guard(type == tensor::DType::Float32 || type == tensor::DType::Float64, "the type is float32 or float64");
    return type == tensor::DType::Float64 ? f(double{}) : f(float{});
}

/// Calls f(T{}) for float32, float64, int32 or int64: the types that arithmetic accepts.
template <class F>
auto visitNumber(tensor::DType type, const F& f)
{
    switch (type) {
    case tensor::DType::Int32:
        return f(std::int32_t{});
    case tensor::DType::Int64:
        return f(std::int64_t{});
    default:
        return visitFloat(type, f);
    }
}

/// The type that sums of T are made in: integers wrap around instead of overflowing.
template <class T>
using Accumulator =
    typename std::conditional_t<std::is_integral_v<T>, std::make_unsigned<T>, std::type_identity<T>>::type;

/// x + y, x − y, x · y; integers wrap around.
template <class T>
T plus(T x, T y)
{
    return static_cast<T>(static_cast<Accumulator<T>>(x) + static_cast<Accumulator<T>>(y));
}
template <class T>
T minus(T x, T y)
{
    return static_cast<T>(static_cast<Accumulator<T>>(x) - static_cast<Accumulator<T>>(y));
}
template <class T>
T times(T x, T y)
{
    return static_cast<T>(static_cast<Accumulator<T>>(x) * static_cast<Accumulator<T>>(y));
}

} // namespace retro::ops
