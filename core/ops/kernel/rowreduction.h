// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/ops/boundoperator.h"

namespace retro::ops
{

/// y = f(row of `length` elements) and, for floats, its gradient s·∂y/∂x per element. Elements are of the type that
/// numbers are computed in (float, double, int64, uint64).
struct RowReducer
{
    using Value = void (*)(const void* x, std::int64_t length, void* y);
    using Gradient = void (*)(const void* x, std::int64_t length, const void* y, const void* s, void* out);

    Value f32 = nullptr;
    Value f64 = nullptr;
    Value i64 = nullptr;
    Value u64 = nullptr;
    Gradient gradient32 = nullptr;
    Gradient gradient64 = nullptr;

    /// The value for a type as computingType() gives it.
    [[nodiscard]] Value of(tensor::DType computing) const;
};

/// Rows of a tensor along some of its axes.
class ReductionRows
{
public:
    /// `axes` ascending.
    ReductionRows(tensor::Shape operand, std::vector<std::size_t> axes);

    /// Elements of a row.
    [[nodiscard]] std::int64_t length() const { return m_length; }
    [[nodiscard]] const tensor::Shape& operandShape() const { return m_operand; }
    /// f of every row, in `result` (as many elements as there are rows) and x's type.
    [[nodiscard]] Tensor reduced(const Tensor& x, const RowReducer& reducer, const tensor::Shape& result) const;
    /// Gradient of Σ s·y with respect to x, in x's shape; s and y have one element per row. float32, float64.
    [[nodiscard]] Tensor gradient(const Tensor& s, const Tensor& x, const Tensor& y, const RowReducer& reducer) const;

private:
    tensor::Shape m_operand;
    std::vector<std::size_t> m_axes;
    tensor::Shape m_back; // where each axis of the operand lies once the reduced ones are at the end
    std::int64_t m_length;
    std::int64_t m_rows = 1;
};

/// Rows of F, a struct with
///   template <class T> static T value(const T* x, std::int64_t length)
///   template <class T> static void gradient(const T* x, std::int64_t length, T y, T s, T* out)
template <class F, class T>
void reduceRow(const void* x, std::int64_t length, void* y)
{
    *static_cast<T*>(y) = F::value(static_cast<const T*>(x), length);
}
template <class F, class T>
void gradientRow(const void* x, std::int64_t length, const void* y, const void* s, void* out)
{
    F::gradient(static_cast<const T*>(x), length, *static_cast<const T*>(y), *static_cast<const T*>(s),
                static_cast<T*>(out));
}
template <class F>
constexpr RowReducer rowReducer()
{
    return {reduceRow<F, float>,         reduceRow<F, double>,  reduceRow<F, std::int64_t>,
            reduceRow<F, std::uint64_t>, gradientRow<F, float>, gradientRow<F, double>};
}

} // namespace retro::ops
