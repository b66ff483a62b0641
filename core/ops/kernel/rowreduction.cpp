// SPDX-License-Identifier: Apache-2.0
#include "core/ops/kernel/rowreduction.h"

#include "core/ops/kernel/axisreduction.h"
#include "core/ops/kernel/rowloop.h"
#include "core/ops/threads.h"

namespace retro::ops
{

using tensor::DType;
using tensor::Shape;

RowReducer::Value RowReducer::of(DType computing) const
{
    switch (computing) {
    case DType::Float32:
        return f32;
    case DType::Float64:
        return f64;
    case DType::UInt64:
        return u64;
    default:
        return i64;
    }
}

ReductionRows::ReductionRows(Shape operand, std::vector<std::size_t> axes)
    : m_operand(std::move(operand)), m_axes(std::move(axes)), m_back(m_operand.size()),
      m_length(extentOf(m_operand, m_axes))
{
    std::size_t kept = 0;
    std::size_t moved = m_operand.size() - m_axes.size();
    for (std::size_t axis = 0; axis < m_operand.size(); ++axis) {
        const bool moves = std::binary_search(m_axes.begin(), m_axes.end(), axis);
        m_back[axis] = static_cast<std::int64_t>(moves ? moved++ : kept++);
        m_rows *= moves ? 1 : m_operand[axis];
    }
}

Tensor ReductionRows::reduced(const Tensor& x, const RowReducer& reducer, const Shape& result) const
{
    const DType computing = computingType(x.dtype());
    const Tensor rows = movedToEnd(x, m_axes).to(computing).contiguous();
    tensor::TensorBuffer buffer(computing, result);
    const auto width = static_cast<std::int64_t>(tensor::sizeOf(computing));
    const RowReducer::Value f = reducer.of(computing);
    const std::int64_t grain = std::max<std::int64_t>(32768 / std::max<std::int64_t>(m_length, 1), 1);
    parallelFor(m_rows, grain, [&](std::int64_t begin, std::int64_t end) {
        for (std::int64_t row = begin; row < end; ++row) {
            f(rows.rawData() + row * m_length * width, m_length, buffer.rawData() + row * width);
        }
    });
    return std::move(buffer).freeze().to(x.dtype());
}

Tensor ReductionRows::gradient(const Tensor& s, const Tensor& x, const Tensor& y, const RowReducer& reducer) const
{
    const Tensor rows = movedToEnd(x, m_axes).contiguous();
    const Tensor results = y.contiguous();
    const Tensor seeds = s.contiguous();
    tensor::TensorBuffer buffer(x.dtype(), rows.shape());
    const auto width = static_cast<std::int64_t>(tensor::sizeOf(x.dtype()));
    const RowReducer::Gradient f = x.dtype() == DType::Float64 ? reducer.gradient64 : reducer.gradient32;
    for (std::int64_t row = 0; row < m_rows; ++row) {
        f(rows.rawData() + row * m_length * width, m_length, results.rawData() + row * width,
          seeds.rawData() + row * width, buffer.rawData() + row * m_length * width);
    }
    return std::move(buffer).freeze().permuted(m_back);
}

} // namespace retro::ops
