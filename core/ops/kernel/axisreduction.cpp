// SPDX-License-Identifier: Apache-2.0
#include "core/ops/kernel/axisreduction.h"

#include "core/ops/kernel/visitnumber.h"
#include "core/ops/reference/sum.h"
#include "core/ops/threads.h"

#include <algorithm>
#include <array>

namespace retro::ops
{

using tensor::Shape;
using tensor::Tensor;

Tensor movedToEnd(const Tensor& t, const std::vector<std::size_t>& axes)
{
    std::vector<bool> moves(t.rank(), false);
    for (const std::size_t axis : axes) {
        moves[axis] = true;
    }
    Shape order;
    for (std::size_t axis = 0; axis < t.rank(); ++axis) {
        if (!moves[axis]) {
            order.push_back(static_cast<std::int64_t>(axis));
        }
    }
    for (const std::size_t axis : axes) {
        order.push_back(static_cast<std::int64_t>(axis));
    }
    return t.permuted(order);
}

std::int64_t extentOf(const Shape& shape, const std::vector<std::size_t>& axes)
{
    std::int64_t extent = 1;
    for (const std::size_t axis : axes) {
        extent *= shape[axis];
    }
    return extent;
}

namespace
{

constexpr std::int64_t kColumns = 256;   // that are summed together
constexpr std::int64_t kFewColumns = 64; // that are better brought together by a copy

/// reference::pairwiseSum of each of `columns` (at most kColumns) columns of `n` rows `stride` elements apart, bit for
/// bit: the same sums in the same order.
template <class A, class T>
void sumColumns(const T* v, std::int64_t stride, std::int64_t n, std::int64_t columns, A* out)
{
    constexpr std::int64_t kBlock = reference::kPairwiseBlock;
    constexpr std::int64_t kLanes = reference::kPairwiseLanes;
    if (n > kBlock) {
        const std::int64_t half = (n / 2 + kBlock - 1) / kBlock * kBlock;
        std::array<A, kColumns> rest;
        sumColumns(v, stride, half, columns, out);
        sumColumns(v + half * stride, stride, n - half, columns, rest.data());
        for (std::int64_t i = 0; i < columns; ++i) {
            out[i] += rest[static_cast<std::size_t>(i)];
        }
        return;
    }
    std::array<std::array<A, kColumns>, kLanes> lanes{};
    for (std::int64_t row = 0; row < n; ++row) {
        A* const lane = lanes[static_cast<std::size_t>(row % kLanes)].data();
        const T* const from = v + row * stride;
        for (std::int64_t i = 0; i < columns; ++i) {
            lane[i] += static_cast<A>(from[i]);
        }
    }
    for (std::size_t i = 0; i < static_cast<std::size_t>(columns); ++i) {
        out[i] = ((lanes[0][i] + lanes[1][i]) + (lanes[2][i] + lanes[3][i])) +
                 ((lanes[4][i] + lanes[5][i]) + (lanes[6][i] + lanes[7][i]));
    }
}

/// How many elements a column has when `axes` are the first of a row-major tensor, but for axes of extent 1: such a sum
/// needs no transposed copy. 0 when they are not.
std::int64_t rowsInFront(const Tensor& t, const std::vector<std::size_t>& axes)
{
    if (!t.isContiguous()) {
        return 0;
    }
    std::vector<bool> isSummed(t.rank(), false);
    for (const std::size_t axis : axes) {
        isSummed[axis] = true;
    }
    bool isBehind = false;
    for (std::size_t axis = 0; axis < t.rank(); ++axis) {
        if (isSummed[axis] && isBehind && t.shape()[axis] > 1) {
            return 0;
        }
        isBehind = isBehind || (!isSummed[axis] && t.shape()[axis] > 1);
    }
    return extentOf(t.shape(), axes);
}

Tensor sumOfRows(const Tensor& t, std::int64_t rows, Shape shape)
{
    const std::int64_t columns = tensor::elementCount(shape);
    tensor::TensorBuffer buffer(t.dtype(), std::move(shape));
    visitNumber(t.dtype(), [&](auto zero) {
        using T = decltype(zero);
        const T* in = t.data<T>();
        T* out = buffer.data<T>();
        const std::int64_t blocks = (columns + kColumns - 1) / kColumns;
        parallelFor(blocks, std::max<std::int64_t>(128 / rows, 1), [&](std::int64_t begin, std::int64_t end) {
            std::array<Accumulator<T>, kColumns> sums;
            for (std::int64_t at = begin * kColumns; at < std::min(end * kColumns, columns); at += kColumns) {
                const std::int64_t count = std::min(kColumns, columns - at);
                sumColumns(in + at, columns, rows, count, sums.data());
                std::transform(sums.begin(), sums.begin() + count, out + at,
                               [](auto sum) { return static_cast<T>(sum); });
            }
        });
    });
    return std::move(buffer).freeze();
}

} // namespace

Tensor sumOverAxes(const Tensor& t, const std::vector<std::size_t>& axes)
{
    const std::int64_t length = extentOf(t.shape(), axes);
    Shape shape = t.shape();
    for (const std::size_t axis : axes) {
        shape[axis] = 1;
    }
    if (const std::int64_t rows = rowsInFront(t, axes); rows > 0 && tensor::elementCount(shape) >= kFewColumns) {
        return sumOfRows(t, rows, std::move(shape));
    }
    const Tensor rows = movedToEnd(t, axes).contiguous();
    tensor::TensorBuffer buffer(t.dtype(), shape);
    visitNumber(t.dtype(), [&](auto zero) {
        using T = decltype(zero);
        const T* in = rows.data<T>();
        T* out = buffer.data<T>();
        const std::int64_t grain = std::max<std::int64_t>(32768 / std::max<std::int64_t>(length, 1), 1);
        parallelFor(tensor::elementCount(shape), grain, [&](std::int64_t begin, std::int64_t end) {
            for (std::int64_t row = begin; row < end; ++row) {
                out[row] = static_cast<T>(reference::pairwiseSum<Accumulator<T>>(in + row * length, length));
            }
        });
    });
    return std::move(buffer).freeze();
}

} // namespace retro::ops
