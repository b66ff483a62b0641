// SPDX-License-Identifier: Apache-2.0
#include "core/ops/window/rowwindows.h"

#include "core/ops/algebra.h"
#include "core/ops/reference/sum.h"

#include <algorithm>
#include <cmath>

namespace retro::ops
{

namespace
{

using tensor::Shape;

/// Σ x.
struct RowSum
{
    template <class T>
    static T value(const T* x, std::int64_t length)
    {
        return reference::pairwiseSum<T>(x, length);
    }
};

/// s shared by softmax(beta·x). Equal elements weigh the same, infinite ones too.
struct SoftmaxShare
{
    template <class T>
    static void gradient(const T* x, std::int64_t length, T beta, T s, T* out)
    {
        if (length == 0) {
            return;
        }
        const T best = beta < T{0} ? *std::min_element(x, x + length) : *std::max_element(x, x + length);
        T sum{0};
        for (std::int64_t i = 0; i < length; ++i) {
            out[i] = x[i] == best ? T{1} : std::exp(beta * (x[i] - best));
            sum += out[i];
        }
        for (std::int64_t i = 0; i < length; ++i) {
            out[i] = s * (out[i] / sum);
        }
    }
};

constexpr RowReducer kRowSum{
    .f32 = reduceRow<RowSum, float>,
    .f64 = reduceRow<RowSum, double>,
};
constexpr RowReducer kSoftmaxShare{
    .gradient32 = gradientRow<SoftmaxShare, float>,
    .gradient64 = gradientRow<SoftmaxShare, double>,
};

Shape withoutExtentAlong(Shape shape, const std::vector<std::size_t>& axes)
{
    for (const std::size_t axis : axes) {
        shape[axis] = 1;
    }
    return shape;
}

} // namespace

RowWindows::RowWindows(Shape operand, std::vector<std::size_t> axes, bool isMax)
    : m_rows(operand, axes), m_reduced(withoutExtentAlong(std::move(operand), axes)), m_sign(isMax ? 1 : -1)
{}

Tensor RowWindows::sum(const Tensor& x) const { return m_rows.reduced(x, kRowSum, m_reduced); }

Tensor RowWindows::spread(const Tensor& s) const
{
    return algebra::broadcastTo(s.reshaped(m_reduced), m_rows.operandShape()).contiguous();
}

Tensor RowWindows::shareBySoftmax(const Tensor& s, const Tensor& x, double beta) const
{
    const Tensor sharpness = Tensor::full(x.dtype(), m_reduced, m_sign * beta);
    return m_rows.gradient(s, x, sharpness, kSoftmaxShare);
}

} // namespace retro::ops
