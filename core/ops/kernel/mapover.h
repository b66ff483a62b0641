// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/ops/kernel/elementloop.h"

#include <utility>

namespace retro::ops
{

/// The elements of a dense tensor for writing over them, when nobody else holds its memory; null when somebody does.
/// For what an operator has just made: a tensor that anybody has looked at (sums, handles) keeps its elements.
template <class T>
[[nodiscard]] T* writable(tensor::Tensor& t)
{
    if (t.storage().use_count() != 1 || !t.isDense()) {
        return nullptr;
    }
    auto& storage = const_cast<tensor::Storage&>(*t.storage()); // made as TensorBuffer: no object is const
    return reinterpret_cast<T*>(storage.data()) + t.offset();
}

/// f(element of a) in a's memory when nobody else holds it, else in a new tensor.
template <class T, class F>
[[nodiscard]] tensor::Tensor mapOver(tensor::Tensor a, const F& f)
{
    T* const out = writable<T>(a);
    if (out == nullptr) {
        return mapElements<T>(a, f);
    }
    constexpr std::int64_t kPiece = 32768;
    parallelFor(a.size(), kPiece, [&](std::int64_t begin, std::int64_t end) {
        for (std::int64_t i = begin; i < end; ++i) {
            out[i] = f(out[i]);
        }
    });
    return a;
}

/// f(element of a, element of b) in a's memory when nobody else holds it, else in a new tensor; b broadcast to a's
/// shape.
template <class T, class F>
[[nodiscard]] tensor::Tensor mapOver(tensor::Tensor a, const tensor::Tensor& b, const F& f)
{
    T* const out = writable<T>(a);
    if (out == nullptr) {
        return mapElements<T>(a, b, a.shape(), f);
    }
    const ElementLoop loop{a.shape(), {a.strides(), broadcastStrides(b, a.shape())}};
    const T* in = b.data<T>();
    const std::int64_t so = loop.innerStride(0);
    const std::int64_t sb = loop.innerStride(1);
    loop.run<2>([&](const std::array<std::int64_t, 2>& offsets, std::int64_t count) {
        T* o = out + offsets[0];
        const T* y = in + offsets[1];
        if (so == 1 && sb == 1) {
            for (std::int64_t i = 0; i < count; ++i) {
                o[i] = f(o[i], y[i]);
            }
            return;
        }
        for (std::int64_t i = 0; i < count; ++i) {
            o[i * so] = f(o[i * so], y[i * sb]);
        }
    });
    return a;
}

} // namespace retro::ops
