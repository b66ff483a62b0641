// SPDX-License-Identifier: Apache-2.0
// CumSum and CumProd: running sums and products along an axis.
#include "core/ops/bind/bindcheck.h"
#include "core/ops/bind/operatorbase.h"
#include "core/ops/families.h"
#include "core/ops/kernel/elementmap.h"
#include "core/ops/kernel/rowloop.h"
#include "core/ops/kernel/visitnumber.h"
#include "core/ops/linearoperands.h"

namespace retro::ops
{

namespace
{

using tensor::DType;
using tensor::Shape;

/// In which order elements are taken, and whether an element counts for its own place.
struct Running
{
    bool isExclusive = false;
    bool isReverse = false;
};

/// Elements along the axis `step` apart, `length` of them, from `first` on.
struct Line
{
    std::int64_t first = 0;
    std::int64_t step = 1;
    std::int64_t length = 0;
};

template <class F>
void forEachLine(const Shape& shape, std::size_t axis, bool isReverse, const F& f)
{
    const AxisView view(shape, axis);
    for (std::int64_t o = 0; o < view.outer && view.extent > 0; ++o) {
        for (std::int64_t i = 0; i < view.inner; ++i) {
            f(isReverse ? Line{view.at(o, view.extent - 1, i), -view.inner, view.extent}
                        : Line{view.at(o, 0, i), view.inner, view.extent});
        }
    }
}

template <class T>
void runLine(const Line& line, const T* in, T* out, bool isExclusive, bool isProduct)
{
    T total = isProduct ? T{1} : T{0};
    for (std::int64_t n = 0, at = line.first; n < line.length; ++n, at += line.step) {
        const T next = isProduct ? times(total, in[at]) : plus(total, in[at]);
        out[at] = isExclusive ? total : next;
        total = next;
    }
}

/// Running sums or products of any number type.
Tensor runningTotals(const Tensor& x, std::size_t axis, Running running, bool isProduct)
{
    const DType computing = x.dtype() == DType::UInt64 ? DType::Int64 : computingType(x.dtype()); // the same bits
    const Tensor source = x.to(computing).contiguous();
    tensor::TensorBuffer buffer(computing, x.shape());
    visitNumber(computing, [&](auto zero) {
        using T = decltype(zero);
        forEachLine(x.shape(), axis, running.isReverse, [&](const Line& line) {
            runLine(line, source.data<T>(), buffer.data<T>(), running.isExclusive, isProduct);
        });
    });
    return std::move(buffer).freeze().to(x.dtype());
}

class CumulativeSum final : public Operator<Differentiable>, public LinearOperands
{
public:
    CumulativeSum(TensorType output, std::size_t axis, Running running)
        : Operator(std::move(output)), m_axis(axis), m_running(running)
    {}

    [[nodiscard]] std::vector<Tensor> forward(std::span<const Tensor> operands) const override
    {
        return {runningTotals(operands[0], m_axis, m_running, false)};
    }
    [[nodiscard]] bool isLinearIn(std::size_t slot) const override { return slot == 0; }
    [[nodiscard]] Reads savedForGradient() const override { return Reads::nothing(); }
    [[nodiscard]] Tensor pullback(std::span<const Tensor> s, std::span<const Tensor>, std::span<const Tensor>,
                                  std::size_t) const override
    {
        return runningTotals(s[0], m_axis, {m_running.isExclusive, !m_running.isReverse}, false);
    }

private:
    std::size_t m_axis;
    Running m_running;
};

/// Product of the elements of a line before element k.
template <class T>
T productBefore(const Line& line, const T* x, std::int64_t k)
{
    T product{1};
    for (std::int64_t n = 0; n < k; ++n) {
        product *= x[line.first + n * line.step];
    }
    return product;
}

/// ∂Σ s·y/∂x_k = Σ over the places that x_k counts for of s · (the product of the other factors there).
template <class T>
T productGradient(const Line& line, const T* x, const T* s, std::int64_t k, bool isExclusive)
{
    T factors = productBefore(line, x, k);
    T sum{0};
    const std::int64_t shift = isExclusive ? 1 : 0;
    for (std::int64_t n = k; n + shift < line.length; ++n) {
        factors *= n > k ? x[line.first + n * line.step] : T{1};
        sum += s[line.first + (n + shift) * line.step] * factors;
    }
    return sum;
}

class CumulativeProduct final : public Operator<Differentiable>
{
public:
    CumulativeProduct(TensorType output, std::size_t axis, Running running)
        : Operator(std::move(output)), m_axis(axis), m_running(running)
    {}

    [[nodiscard]] std::vector<Tensor> forward(std::span<const Tensor> operands) const override
    {
        return {runningTotals(operands[0], m_axis, m_running, true)};
    }
    [[nodiscard]] Reads savedForGradient() const override { return Reads::firstOperand(); }
    [[nodiscard]] Tensor pullback(std::span<const Tensor> s, std::span<const Tensor> operands, std::span<const Tensor>,
                                  std::size_t) const override
    {
        const Tensor x = operands[0].contiguous();
        const Tensor seed = s[0].contiguous();
        tensor::TensorBuffer buffer(x.dtype(), x.shape());
        visitFloat(x.dtype(), [&](auto zero) {
            using T = decltype(zero);
            forEachLine(x.shape(), m_axis, m_running.isReverse, [&](const Line& line) {
                for (std::int64_t k = 0; k < line.length; ++k) {
                    buffer.data<T>()[line.first + k * line.step] =
                        productGradient(line, x.data<T>(), seed.data<T>(), k, m_running.isExclusive);
                }
            });
        });
        return std::move(buffer).freeze();
    }

private:
    std::size_t m_axis;
    Running m_running;
};

template <class O>
BoundResult bindCumulative(const BindContext& context)
{
    const TensorType& operand = firstType(context);
    if (operand.dtype == DType::Bool) {
        return context.error("the operand is bool, but must be a number; insert a Cast");
    }
    RETRO_TRY(const auto axes, context.constantInts(1));
    if (axes.size() != 1) {
        return context.error("the axis (operand 1) must be one number");
    }
    RETRO_TRY(const std::size_t axis, axisWithin(context, axes[0], operand.shape.size()));
    const Running running{context.intAttribute("exclusive", 0) != 0, context.intAttribute("reverse", 0) != 0};
    return bound<O>(operand, axis, running);
}

} // namespace

const OperatorFamily kCumulativeOperators{
    {"", "CumProd", 26, 0, "function", true, bindCumulative<CumulativeProduct>},
    {"", "CumSum", 11, 0, "function", true, bindCumulative<CumulativeSum>},
};

} // namespace retro::ops
