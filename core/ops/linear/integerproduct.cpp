// SPDX-License-Identifier: Apache-2.0
#include "core/ops/linear/integerproduct.h"

#include "core/base/failure.h"
#include "core/ops/kernel/visitnumber.h"

namespace retro::ops
{

using tensor::Tensor;

Tensor integerProduct(const Tensor& a, const Tensor& b)
{
    base::guard(a.rank() >= 2 && a.rank() == b.rank() && a.isContiguous() && b.isContiguous(),
                "two matrices without gaps are multiplied");
    const std::int64_t rows = a.shape()[a.rank() - 2];
    const std::int64_t depth = a.shape().back();
    const std::int64_t columns = b.shape().back();
    tensor::Shape shape = a.shape();
    shape.back() = columns;
    tensor::TensorBuffer buffer(tensor::DType::Int64, shape);
    std::int64_t* z = buffer.data<std::int64_t>();
    for (std::int64_t i = 0; i < tensor::elementCount(shape); ++i) {
        const std::int64_t row = i / columns;
        const std::int64_t* x = a.data<std::int64_t>() + row * depth;
        const std::int64_t* y = b.data<std::int64_t>() + row / rows * depth * columns + i % columns;
        std::int64_t sum = 0;
        for (std::int64_t k = 0; k < depth; ++k) {
            sum = plus(sum, times(x[k], y[k * columns]));
        }
        z[i] = sum;
    }
    return std::move(buffer).freeze();
}

} // namespace retro::ops
