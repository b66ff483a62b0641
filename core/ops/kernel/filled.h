// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/ops/kernel/visitnumber.h"
#include "core/tensor/tensor.h"

namespace retro::ops
{

/// A row-major tensor whose elements f(T*) writes, T being float or double by `type`.
template <class F>
[[nodiscard]] tensor::Tensor filled(tensor::DType type, tensor::Shape shape, const F& f)
{
    tensor::TensorBuffer buffer(type, std::move(shape));
    visitFloat(type, [&](auto zero) { f(buffer.data<decltype(zero)>()); });
    return std::move(buffer).freeze();
}

/// As filled(), from zeros.
template <class F>
[[nodiscard]] tensor::Tensor accumulated(tensor::DType type, tensor::Shape shape, const F& f)
{
    tensor::TensorBuffer buffer(type, std::move(shape));
    buffer.clear();
    visitFloat(type, [&](auto zero) { f(buffer.data<decltype(zero)>()); });
    return std::move(buffer).freeze();
}

/// Elements of a contiguous tensor as T, the element type of the pointer that goes with it.
template <class T>
[[nodiscard]] const T* elements(const tensor::Tensor& t, const T*)
{
    return t.isValid() ? t.data<T>() : nullptr;
}

} // namespace retro::ops
