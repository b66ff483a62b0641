// SPDX-License-Identifier: Apache-2.0
#include "core/ops/kernel/matrixproduct.h"

#include "core/base/failure.h"
#include "core/ops/algebra.h"
#include "core/ops/kernel/floatproduct.h"
#include "core/ops/kernel/visitnumber.h"

#include <numeric>

namespace retro::ops
{

namespace
{

using reference::MatrixView;
using tensor::Shape;
using tensor::Tensor;

Shape batchOf(const Tensor& t) { return {t.shape().begin(), t.shape().end() - 2}; }

Shape commonBatch(const Shape& a, const Shape& b)
{
    Shape common(std::max(a.size(), b.size()), 1);
    for (std::size_t i = 0; i < common.size(); ++i) {
        const std::int64_t left = i < a.size() ? a[a.size() - 1 - i] : 1;
        const std::int64_t right = i < b.size() ? b[b.size() - 1 - i] : 1;
        common[common.size() - 1 - i] = left == 1 ? right : left;
    }
    return common;
}

/// Dense, with the two matrix axes innermost in either order and the batch axes row-major around them.
bool isMatrixDense(const Tensor& t)
{
    const std::size_t rank = t.rank();
    return t.isContiguous() || (t.strides()[rank - 2] == 1 && swapped(t).isContiguous());
}

/// A run of equal matrices in memory.
struct Operand
{
    Tensor tensor;
    std::int64_t stride = 0; // from matrix to matrix; 0 = one matrix for all

    Operand(const Tensor& t, const Shape& batch) : tensor(t)
    {
        const std::int64_t own = tensor::elementCount(batchOf(t));
        if (own != 1 && own != tensor::elementCount(batch)) {
            Shape whole = batch;
            whole.insert(whole.end(), t.shape().end() - 2, t.shape().end());
            tensor = algebra::broadcastTo(t, whole);
        }
        tensor = isMatrixDense(tensor) ? tensor : tensor.contiguous();
        const Shape& shape = tensor.shape();
        stride = own == 1 ? 0 : shape[shape.size() - 2] * shape[shape.size() - 1];
    }

    template <class T>
    [[nodiscard]] MatrixView<T> view(std::int64_t index = 0) const
    {
        const std::size_t rank = tensor.rank();
        // Extents of 1 may carry any stride; give the library the regular one.
        const std::int64_t rows = tensor.shape()[rank - 2];
        const std::int64_t columns = tensor.shape()[rank - 1];
        const bool isRowMajor = tensor.isContiguous();
        return {tensor.data<T>() + index * stride, rows, columns, isRowMajor ? columns : 1, isRowMajor ? 1 : rows};
    }
};

void multiplyOne(const MatrixView<float>& a, const MatrixView<float>& b, float* c)
{
    multiplyFloats(a, b, c, b.columns);
}

void multiplyOne(const MatrixView<double>& a, const MatrixView<double>& b, double* c)
{
    reference::multiply(a, b, c, b.columns);
}

template <class T>
void multiplyInto(std::int64_t count, const Operand& a, const Operand& b, T* c)
{
    const MatrixView<T> first = a.view<T>();
    const std::int64_t columns = b.view<T>().columns;
    const std::int64_t work = std::max<std::int64_t>(first.rows * first.columns * columns, 1);
    parallelFor(count, std::max<std::int64_t>(kMultiplicationsPerThread / work, 1),
                [&](std::int64_t begin, std::int64_t end) {
                    for (std::int64_t i = begin; i < end; ++i) {
                        multiplyOne(a.view<T>(i), b.view<T>(i), c + i * first.rows * columns);
                    }
                });
}

} // namespace

Shape asMatrix(Shape shape, bool isLeft)
{
    if (shape.size() == 1) {
        shape.insert(isLeft ? shape.begin() : shape.end(), 1);
    }
    return shape;
}

Tensor swapped(const Tensor& t)
{
    Shape order(t.rank());
    std::iota(order.begin(), order.end(), std::int64_t{0});
    std::swap(order[t.rank() - 2], order[t.rank() - 1]);
    return t.permuted(order);
}

Tensor matrixProduct(const Tensor& a, const Tensor& b)
{
    base::guard(a.rank() >= 2 && b.rank() >= 2 && a.dtype() == b.dtype(), "two matrices of one type are multiplied");
    base::guard(a.shape().back() == b.shape()[b.rank() - 2], "the columns of one matrix meet the rows of the other");
    const Shape batch = commonBatch(batchOf(a), batchOf(b));
    Shape shape = batch;
    shape.push_back(a.shape()[a.rank() - 2]);
    shape.push_back(b.shape().back());
    tensor::TensorBuffer buffer(a.dtype(), shape);
    if (tensor::elementCount(shape) > 0) {
        const Operand left(a, batch);
        const Operand right(b, batch);
        visitFloat(a.dtype(), [&](auto zero) {
            using T = decltype(zero);
            multiplyInto(tensor::elementCount(batch), left, right, buffer.data<T>());
        });
    }
    return std::move(buffer).freeze();
}

} // namespace retro::ops
