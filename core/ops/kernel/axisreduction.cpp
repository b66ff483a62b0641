// SPDX-License-Identifier: Apache-2.0
#include "core/ops/kernel/axisreduction.h"

#include "core/ops/kernel/visitnumber.h"
#include "core/ops/reference/sum.h"
#include "core/ops/threads.h"

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

Tensor sumOverAxes(const Tensor& t, const std::vector<std::size_t>& axes)
{
    const std::int64_t length = extentOf(t.shape(), axes);
    Shape shape = t.shape();
    for (const std::size_t axis : axes) {
        shape[axis] = 1;
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
