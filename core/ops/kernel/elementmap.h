// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/tensor/tensor.h"

#include <cstdint>
#include <span>
#include <vector>

namespace retro::ops
{

/// Per result element in row-major order: the row-major position of the operand element that it is, or anything outside
/// the operand when it is none.
using ElementMap = std::vector<std::int64_t>;

/// A map without positions yet, with room for `count`. Throws a Failure (Memory) where they are too many.
[[nodiscard]] ElementMap roomForPositions(std::int64_t count);

/// y[i] = x[map[i]], in `shape`; elements of none are `fill` (one element of x's type; invalid = 0).
[[nodiscard]] tensor::Tensor gathered(const tensor::Tensor& x, std::span<const std::int64_t> map,
                                      const tensor::Shape& shape, const tensor::Tensor& fill = {});

/// z[map[i]] = Σ s[i], in `shape`, in the order of i: the transpose of gathered(). float32, float64.
[[nodiscard]] tensor::Tensor scatterSum(const tensor::Tensor& s, std::span<const std::int64_t> map,
                                        const tensor::Shape& shape);

/// A copy of `x` in which y[map[i]] = updates[i], in the order of i; elements of none are dropped. Types agree.
[[nodiscard]] tensor::Tensor overwritten(const tensor::Tensor& x, std::span<const std::int64_t> map,
                                         const tensor::Tensor& updates);

/// Extents before an axis, along it, and after it, multiplied: x as outer × extent × inner.
struct AxisView
{
    std::int64_t outer = 1;
    std::int64_t extent = 1;
    std::int64_t inner = 1;

    AxisView(const tensor::Shape& shape, std::size_t axis);
    /// Row-major position.
    [[nodiscard]] std::int64_t at(std::int64_t o, std::int64_t e, std::int64_t i) const
    {
        return (o * extent + e) * inner + i;
    }
};

/// Element map that takes index[e] along `axis` of a tensor of `shape` for e = 0 …; an index outside gives no element.
[[nodiscard]] ElementMap alongAxis(const tensor::Shape& shape, std::size_t axis, std::span<const std::int64_t> index);

/// All elements as int64, row-major.
[[nodiscard]] std::vector<std::int64_t> integersOf(const tensor::Tensor& t);

/// Calls f(index) for every index of `shape` in row-major order.
template <class F>
void forEachIndex(const tensor::Shape& shape, const F& f)
{
    tensor::Shape index(shape.size(), 0);
    const std::int64_t count = tensor::elementCount(shape);
    for (std::int64_t i = 0; i < count; ++i) {
        f(static_cast<const tensor::Shape&>(index));
        for (std::size_t axis = shape.size(); axis-- > 0 && ++index[axis] == shape[axis];) {
            index[axis] = 0;
        }
    }
}

} // namespace retro::ops
