// SPDX-License-Identifier: Apache-2.0
#include "core/ops/kernel/fewrows.h"

#include "core/base/failure.h"
#include "core/ops/kernel/visitnumber.h"

#include <algorithm>

namespace retro::ops
{

using tensor::Shape;
using tensor::Tensor;
using tensor::TensorBuffer;

namespace
{

/// Rows of `length` that are not all 0; stops as soon as there are more than `most`.
template <class T>
std::vector<std::int64_t> placesOf(const T* data, std::int64_t rows, std::int64_t length, std::int64_t most)
{
    std::vector<std::int64_t> places;
    for (std::int64_t row = 0; row < rows && std::ssize(places) <= most; ++row) {
        const T* const first = data + row * length;
        if (std::any_of(first, first + length, [](T value) { return value != T{0}; })) {
            places.push_back(row);
        }
    }
    return places;
}

} // namespace

std::optional<FewRows> FewRows::of(const Tensor& t)
{
    const Tensor dense = t.contiguous();
    const std::int64_t length = dense.rank() == 0 ? 0 : dense.shape().back();
    const std::int64_t rows = length == 0 ? 0 : dense.size() / length;
    if (rows < 2) {
        return std::nullopt;
    }
    const std::int64_t most = rows - std::max<std::int64_t>(rows / 8, 1);
    return visitFloat(dense.dtype(), [&](auto zero) -> std::optional<FewRows> {
        using T = decltype(zero);
        std::vector<std::int64_t> places = placesOf(dense.data<T>(), rows, length, most);
        if (std::ssize(places) > most) {
            return std::nullopt;
        }
        TensorBuffer buffer(dense.dtype(), {std::ssize(places), length});
        T* to = buffer.data<T>();
        for (const std::int64_t place : places) {
            const T* const from = dense.data<T>() + place * length;
            to = std::copy(from, from + length, to);
        }
        return FewRows(std::move(places), std::move(buffer).freeze());
    });
}

Tensor FewRows::spread(const Tensor& rows, const Shape& shape) const
{
    base::guard(rows.rank() == 2 && rows.shape()[0] == std::ssize(m_places), "there is a place for each row");
    const Tensor dense = rows.contiguous();
    const std::int64_t length = dense.shape()[1];
    TensorBuffer buffer(dense.dtype(), shape);
    visitFloat(dense.dtype(), [&](auto zero) {
        using T = decltype(zero);
        const std::span<T> all = buffer.span<T>();
        const T* from = dense.data<T>();
        auto end = all.begin(); // of what has been written
        for (const std::int64_t place : m_places) {
            const auto row = all.begin() + place * length;
            std::fill(end, row, T{0});
            end = std::copy(from, from + length, row);
            from += length;
        }
        std::fill(end, all.end(), T{0});
    });
    return std::move(buffer).freeze();
}

} // namespace retro::ops
