// SPDX-License-Identifier: Apache-2.0
#include "core/ops/algebra.h"
#include "core/ops/bind/bindcheck.h"
#include "core/ops/bind/operatorbase.h"
#include "core/ops/families.h"
#include "core/ops/kernel/axisreduction.h"
#include "core/ops/kernel/exponentialrow.h"
#include "core/ops/kernel/vectormath.h"
#include "core/ops/kernel/visitnumber.h"
#include "core/ops/reference/sum.h"
#include "core/ops/threads.h"

#include <cmath>

namespace retro::ops
{

namespace
{

using tensor::Shape;

/// One row: exp(x − max x), divided by its sum.
template <class T>
void softmaxRow(const T* x, T* y, std::int64_t length)
{
    exponentials(x, largestOf(x, length), y, length);
    const T sum = reference::pairwiseSum<T>(y, length);
    for (std::int64_t i = 0; i < length; ++i) {
        y[i] /= sum;
    }
}

/// One row: x − max x − ln Σ exp(x − max x).
template <class T>
void logSoftmaxRow(const T* x, T* y, std::int64_t length)
{
    const T largest = largestOf(x, length);
    const T logarithm = std::log(reference::pairwiseSum<T>(x, length, [largest](T v) { return fastExp(v - largest); }));
    for (std::int64_t i = 0; i < length; ++i) {
        y[i] = x[i] - largest - logarithm;
    }
}

/// One row: 1 at the first largest element, else 0.
template <class T>
void hardmaxRow(const T* x, T* y, std::int64_t length)
{
    std::fill(y, y + length, T{0});
    if (length > 0) {
        y[std::max_element(x, x + length) - x] = T{1};
    }
}

/// A function of whole rows, one per floating type.
struct WholeRows
{
    void (*f32)(const float* x, float* y, std::int64_t length) = nullptr;
    void (*f64)(const double* x, double* y, std::int64_t length) = nullptr;

    void operator()(const float* x, float* y, std::int64_t length) const { f32(x, y, length); }
    void operator()(const double* x, double* y, std::int64_t length) const { f64(x, y, length); }
};

/// Rows along some axes, each as long as those together.
class RowAxes
{
public:
    RowAxes(Shape shape, std::vector<std::size_t> axes)
        : m_axes(std::move(axes)), m_back(shape.size()), m_length(extentOf(shape, m_axes))
    {
        // Where each axis of the operand lies once m_axes are at the end.
        std::size_t kept = 0;
        std::size_t moved = m_back.size() - m_axes.size();
        for (std::size_t axis = 0; axis < m_back.size(); ++axis) {
            const bool moves = std::binary_search(m_axes.begin(), m_axes.end(), axis);
            m_back[axis] = static_cast<std::int64_t>(moves ? moved++ : kept++);
        }
    }

    [[nodiscard]] const std::vector<std::size_t>& axes() const { return m_axes; }
    [[nodiscard]] Tensor map(const Tensor& x, const WholeRows& f) const
    {
        const Tensor rows = movedToEnd(x, m_axes).contiguous();
        tensor::TensorBuffer buffer(rows.dtype(), rows.shape());
        visitFloat(rows.dtype(), [&](auto zero) {
            using T = decltype(zero);
            const T* in = rows.data<T>();
            T* out = buffer.data<T>();
            const std::int64_t count = m_length == 0 ? 0 : rows.size() / m_length;
            const std::int64_t grain = std::max<std::int64_t>(4096 / std::max<std::int64_t>(m_length, 1), 1);
            parallelFor(count, grain, [&](std::int64_t begin, std::int64_t end) {
                for (std::int64_t row = begin; row < end; ++row) {
                    f(in + row * m_length, out + row * m_length, m_length);
                }
            });
        });
        return std::move(buffer).freeze().permuted(m_back);
    }

private:
    std::vector<std::size_t> m_axes;
    Shape m_back;
    std::int64_t m_length;
};

/// Softmax or its logarithm over one axis; before opset 13 over all axes from one on, taken as one.
class SoftmaxOver final : public Operator<Softmax>
{
public:
    SoftmaxOver(const TensorType& type, std::vector<std::size_t> axes, bool isLogarithm)
        : Operator(type), m_rows(type.shape, std::move(axes)), m_isLogarithm(isLogarithm)
    {}

    [[nodiscard]] std::vector<Tensor> forward(std::span<const Tensor> operands) const override
    {
        const WholeRows f = m_isLogarithm ? WholeRows{logSoftmaxRow<float>, logSoftmaxRow<double>}
                                          : WholeRows{softmaxRow<float>, softmaxRow<double>};
        return {m_rows.map(operands[0], f)};
    }
    [[nodiscard]] Reads savedForGradient() const override { return Reads::firstOutput(); }
    [[nodiscard]] Tensor sumOverAxis(const Tensor& t) const override { return sumOverAxes(t, m_rows.axes()); }
    [[nodiscard]] bool isLogarithm() const override { return m_isLogarithm; }

private:
    RowAxes m_rows;
    bool m_isLogarithm;
};

/// Constant almost everywhere, so it passes no relevance.
class HardmaxOver final : public PassiveOperator
{
public:
    HardmaxOver(const TensorType& type, std::vector<std::size_t> axes) : m_rows(type.shape, std::move(axes))
    {
        m_outputTypes.push_back(type);
    }

    [[nodiscard]] std::vector<Tensor> forward(std::span<const Tensor> operands) const override
    {
        return {m_rows.map(operands[0], {hardmaxRow<float>, hardmaxRow<double>})};
    }

private:
    RowAxes m_rows;
};

base::Result<std::vector<std::size_t>> rowAxes(const BindContext& context)
{
    RETRO_CHECK(expect(context, OperandTypes::Floats));
    const std::size_t rank = firstType(context).shape.size();
    const bool flattens = context.node.opset < 13;
    RETRO_TRY(const std::size_t first, axisWithin(context, context.intAttribute("axis", flattens ? 1 : -1), rank));
    std::vector<std::size_t> axes{first};
    for (std::size_t axis = first + 1; flattens && axis < rank; ++axis) {
        axes.push_back(axis);
    }
    return axes;
}

template <bool isLogarithm>
BoundResult bindSoftmax(const BindContext& context)
{
    RETRO_TRY(auto axes, rowAxes(context));
    return bound<SoftmaxOver>(firstType(context), std::move(axes), isLogarithm);
}

BoundResult bindHardmax(const BindContext& context)
{
    RETRO_TRY(auto axes, rowAxes(context));
    return bound<HardmaxOver>(firstType(context), std::move(axes));
}

} // namespace

const OperatorFamily kSoftmaxOperators{
    {"", "Hardmax", 1, 0, "no relevance", false, bindHardmax},
    {"", "LogSoftmax", 1, 0, "softmax", true, bindSoftmax<true>},
    {"", "Softmax", 1, 0, "softmax", true, bindSoftmax<false>},
};

} // namespace retro::ops
