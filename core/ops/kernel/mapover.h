// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/ops/kernel/elementloop.h"
#include "core/ops/kernel/rowsover.h"

#include <type_traits>
#include <utility>

namespace retro::ops
{

/// The elements of a dense tensor for writing over them, when nobody else holds its memory; null when somebody does.
/// For what an operator has just made: a tensor that anybody has looked at (sums, handles) keeps its elements.
template <class T>
[[nodiscard]] T* writable(tensor::Tensor& t)
{
    if (t.storage().use_count() != 1 || !t.storage()->isOwn() || !t.isDense()) {
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
    parallelFor(a.size(), kPiece,
                [&](std::int64_t begin, std::int64_t end) { mapRow(out + begin, 1, out + begin, 1, end - begin, f); });
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
        mapRow(out + offsets[0], so, out + offsets[0], so, in + offsets[1], sb, count, f);
    });
    return a;
}

/// f(element of a, element of b), both broadcast to `shape`: in the memory of one that lies as the result does and that
/// nobody else holds, else in a new tensor. `rows` (of float32 alone; null: nothing) goes over each row as soon as it
/// is there.
template <class T, class F>
[[nodiscard]] tensor::Tensor mapOverEither(tensor::Tensor a, tensor::Tensor b, const tensor::Shape& shape, const F& f,
                                           const RowsOver* rows = nullptr)
{
    const tensor::Shape strides = resultStrides(shape, {&a, &b});
    const auto room = [&](tensor::Tensor& t) -> T* {
        return t.shape() == shape && t.strides() == strides ? writable<T>(t) : nullptr;
    };
    const ElementLoop loop{shape, {strides, broadcastStrides(a, shape), broadcastStrides(b, shape)}};
    const T* const inA = a.data<T>();
    const T* const inB = b.data<T>();
    const std::int64_t so = loop.innerStride(0);
    const std::int64_t sa = loop.innerStride(1);
    const std::int64_t sb = loop.innerStride(2);
    const auto fill = [&](T* out) {
        loop.run<3>([&](const std::array<std::int64_t, 3>& offsets, std::int64_t count) {
            T* const row = out + offsets[0];
            mapRow(row, so, inA + offsets[1], sa, inB + offsets[2], sb, count, f);
            if constexpr (std::is_same_v<T, float>) {
                if (rows != nullptr) {
                    rows->over(row, count); // rows of a dense result have no gaps
                }
            }
        });
    };
    if (T* const out = room(a)) {
        fill(out);
        return a;
    }
    if (T* const out = room(b)) {
        fill(out);
        return b;
    }
    tensor::TensorBuffer buffer{tensor::DTypeOf<T>::value, shape, strides};
    fill(buffer.data<T>());
    return std::move(buffer).freeze();
}

} // namespace retro::ops
