// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/base/failure.h"
#include "core/tape/operator.h"
#include "core/tensor/shape.h"

#include <cstddef>
#include <utility>
#include <vector>

namespace retro::tape
{

/// A row-major array over any scalar K: what a tape carries where tensors of the machine's types will not do (exact
/// integers, fractions, dual numbers, symbols).
template <class K>
struct Array
{
    tensor::Shape shape;
    std::vector<K> data;

    bool operator==(const Array&) const = default;
    /// Elements of the outermost axis, and elements in each of them.
    [[nodiscard]] std::int64_t rows() const { return shape.empty() ? 1 : shape.front(); }
    [[nodiscard]] std::size_t rowSize() const
    {
        return rows() == 0 ? 0 : data.size() / static_cast<std::size_t>(rows());
    }
};

/// One element of rank 0.
template <class K>
[[nodiscard]] Array<K> scalarArray(K value)
{
    return {{}, {std::move(value)}};
}

/// Every element `value`.
template <class K>
[[nodiscard]] Array<K> constantArray(tensor::Shape shape, const K& value)
{
    const auto count = static_cast<std::size_t>(tensor::elementCount(shape));
    return {std::move(shape), std::vector<K>(count, value)};
}

/// f of each pair of elements; equal shapes.
template <class K, class F>
[[nodiscard]] Array<K> zipped(const Array<K>& a, const Array<K>& b, const F& f)
{
    base::guard(a.shape == b.shape, "two arrays of one shape are combined");
    Array<K> result{a.shape, {}};
    result.data.reserve(a.data.size());
    for (std::size_t i = 0; i < a.data.size(); ++i) {
        result.data.push_back(f(a.data[i], b.data[i]));
    }
    return result;
}

/// f of each element.
template <class K, class F>
[[nodiscard]] Array<K> mapped(const Array<K>& a, const F& f)
{
    Array<K> result{a.shape, {}};
    result.data.reserve(a.data.size());
    for (const K& element : a.data) {
        result.data.push_back(f(element));
    }
    return result;
}

/// Σ a·b in row-major order, from zero.
template <class K>
[[nodiscard]] K dot(const Array<K>& a, const Array<K>& b)
{
    K sum(0);
    for (std::size_t i = 0; i < a.data.size(); ++i) {
        sum = sum + a.data[i] * b.data[i];
    }
    return sum;
}

/// Σ a in row-major order, from zero.
template <class K>
[[nodiscard]] K total(const Array<K>& a)
{
    K sum(0);
    for (const K& element : a.data) {
        sum = sum + element;
    }
    return sum;
}

template <class K>
struct ValueTraits<Array<K>>
{
    /// Equal shapes.
    static bool sameShape(const Array<K>& a, const Array<K>& b) { return a.shape == b.shape; }
    /// For messages.
    static std::string shapeText(const Array<K>& a) { return tensor::toText(a.shape); }
    /// Element by element, of equal shapes.
    static Array<K> add(const Array<K>& accumulator, const Array<K>& part)
    {
        return zipped(accumulator, part, [](const K& x, const K& y) { return x + y; });
    }
    /// Zeros of the shape.
    static Array<K> zeroLike(const Array<K>& a) { return constantArray(a.shape, K(0)); }
};

} // namespace retro::tape
