// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/ops/kernel/visitnumber.h"
#include "core/tensor/tensor.h"

#include <span>
#include <vector>

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

/// The operands row-major, so that pointers into them stay valid; invalid ones up to `slots`.
[[nodiscard]] inline std::vector<tensor::Tensor> contiguousSlots(std::span<const tensor::Tensor> operands,
                                                                 std::size_t slots)
{
    std::vector<tensor::Tensor> result;
    for (const tensor::Tensor& t : operands) {
        result.push_back(t.isValid() ? t.contiguous() : t);
    }
    result.resize(slots);
    return result;
}

} // namespace retro::ops
