// SPDX-License-Identifier: Apache-2.0
#include "core/ops/kernel/axisreduction.h"

#include "core/ops/kernel/registers.h"
#include "core/ops/kernel/visitnumber.h"
#include "core/ops/reference/sum.h"
#include "core/ops/threads.h"

#include <algorithm>
#include <array>
#include <functional>
#include <numeric>
#include <optional>

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

constexpr std::int64_t kColumnsSummed = 256; // that are summed together
constexpr std::int64_t kFewColumns = 8;      // that are better brought together by a copy

/// reference::pairwiseSum of each of `columns` (at most kColumnsSummed) columns of `n` rows `stride` elements apart,
/// bit for bit: the same sums in the same order.
template <class A, class T>
void sumColumns(const T* v, std::int64_t stride, std::int64_t n, std::int64_t columns, A* out)
{
    constexpr std::int64_t kMost = reference::kPairwiseBlock;
    constexpr std::int64_t kLanes = reference::kPairwiseLanes;
    if (n > kMost) {
        const std::int64_t half = (n / 2 + kMost - 1) / kMost * kMost;
        std::array<A, kColumnsSummed> rest;
        sumColumns(v, stride, half, columns, out);
        sumColumns(v + half * stride, stride, n - half, columns, rest.data());
        for (std::int64_t i = 0; i < columns; ++i) {
            out[i] += rest[static_cast<std::size_t>(i)];
        }
        return;
    }
    std::array<std::array<A, kColumnsSummed>, kLanes> lanes{};
    auto* const places = &lanes;
    onWidestRegisters([v, stride, n, columns, out, places] {
        for (std::int64_t row = 0; row < n; ++row) {
            A* const lane = (*places)[static_cast<std::size_t>(row % kLanes)].data();
            const T* const from = v + row * stride;
            for (std::int64_t i = 0; i < columns; ++i) {
                lane[i] += static_cast<A>(from[i]);
            }
        }
        for (std::size_t i = 0; i < static_cast<std::size_t>(columns); ++i) {
            const auto sum = [places, i](std::size_t k) { return (*places)[k][i] + (*places)[k + 1][i]; };
            out[i] = (sum(0) + sum(2)) + (sum(4) + sum(6));
        }
    });
}

/// A sum over some axes as sums of the columns of matrices: `outer` matrices behind each other, each of `rows` rows.
struct Columns
{
    std::int64_t outer = 1;
    std::int64_t rows = 1;
    std::int64_t columns = 1;
};

/// The axes but those of one element, the largest stride first; none where the tensor has gaps.
std::optional<std::vector<std::size_t>> denseOrder(const Tensor& t)
{
    if (!t.isDense()) {
        return std::nullopt;
    }
    std::vector<std::size_t> order;
    for (std::size_t axis = 0; axis < t.rank(); ++axis) {
        if (t.shape()[axis] != 1) {
            order.push_back(axis);
        }
    }
    std::ranges::stable_sort(order, std::greater(), [&t](std::size_t axis) { return t.strides()[axis]; });
    return order;
}

/// How `axes` are summed without bringing them together by a copy: they lie beside each other in memory with others
/// behind them, as those of channels-last images do, and both kinds lie there in ascending order.
std::optional<Columns> asColumns(const Tensor& t, const std::vector<std::size_t>& axes)
{
    const auto order = denseOrder(t);
    if (!order) {
        return std::nullopt;
    }
    const auto isSummed = [&axes](std::size_t axis) { return std::ranges::find(axes, axis) != axes.end(); };
    const auto first = std::ranges::find_if(*order, isSummed);
    const auto behind = std::find_if_not(first, order->end(), isSummed);
    std::vector<std::size_t> others(order->begin(), first);
    others.insert(others.end(), behind, order->end());
    if (!std::is_sorted(first, behind) || !std::ranges::is_sorted(others) ||
        std::any_of(behind, order->end(), isSummed)) {
        return std::nullopt;
    }
    const auto extent = [&t](auto from, auto to) {
        return std::accumulate(from, to, std::int64_t{1},
                               [&t](std::int64_t product, std::size_t axis) { return product * t.shape()[axis]; });
    };
    return Columns{extent(order->begin(), first), extent(first, behind), extent(behind, order->end())};
}

Tensor sumOfColumns(const Tensor& t, const Columns& form, Shape shape)
{
    tensor::TensorBuffer buffer(t.dtype(), std::move(shape));
    visitNumber(t.dtype(), [&](auto zero) {
        using T = decltype(zero);
        const T* in = t.data<T>();
        T* out = buffer.data<T>();
        const std::int64_t blocks = (form.columns + kColumnsSummed - 1) / kColumnsSummed;
        const std::int64_t grain = std::max<std::int64_t>(128 / form.rows, 1);
        parallelFor(form.outer * blocks, grain, [&](std::int64_t begin, std::int64_t end) {
            std::array<Accumulator<T>, kColumnsSummed> sums;
            for (std::int64_t task = begin; task < end; ++task) {
                const std::int64_t matrix = task / blocks;
                const std::int64_t at = task % blocks * kColumnsSummed;
                const std::int64_t count = std::min(kColumnsSummed, form.columns - at);
                sumColumns(in + matrix * form.rows * form.columns + at, form.columns, form.rows, count, sums.data());
                std::transform(sums.begin(), sums.begin() + count, out + matrix * form.columns + at,
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
    if (const auto form = asColumns(t, axes); form && form->rows > 0 && form->columns >= kFewColumns) {
        return sumOfColumns(t, *form, std::move(shape));
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
