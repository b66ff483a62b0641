// SPDX-License-Identifier: Apache-2.0
// Reductions that are not plain sums: norms, products, logarithms, extremes.
#include "core/ops/algebra.h"
#include "core/ops/bind/operatorbase.h"
#include "core/ops/families.h"
#include "core/ops/kernel/rowreduction.h"
#include "core/ops/kernel/vectormath.h"
#include "core/ops/kernel/visitnumber.h"
#include "core/ops/pickedplaces.h"
#include "core/ops/reference/sum.h"
#include "core/ops/window/reducebind.h"
#include "core/ops/window/rowwindows.h"
#include "core/ops/windowsums.h"

#include <cmath>
#include <limits>

namespace retro::ops
{

namespace
{

using tensor::DType;
using tensor::Shape;

template <class T>
T absoluteValue(T x)
{
    return x < T{0} ? minus(T{0}, x) : x;
}

/// Σ |x|.
struct L1
{
    template <class T>
    static T value(const T* x, std::int64_t length)
    {
        using Sum = Accumulator<T>;
        return static_cast<T>(
            reference::pairwiseSum<Sum>(x, length, [](T v) { return static_cast<Sum>(absoluteValue(v)); }));
    }
    template <class T>
    static void gradient(const T* x, std::int64_t length, T, T s, T* out)
    {
        for (std::int64_t i = 0; i < length; ++i) {
            out[i] = x[i] > T{0} ? s : x[i] < T{0} ? -s : T{0};
        }
    }
};

/// Σ x².
struct SumSquare
{
    template <class T>
    static T value(const T* x, std::int64_t length)
    {
        using Sum = Accumulator<T>;
        return static_cast<T>(
            reference::pairwiseSum<Sum>(x, length, [](T v) { return static_cast<Sum>(times(v, v)); }));
    }
    template <class T>
    static void gradient(const T* x, std::int64_t length, T, T s, T* out)
    {
        for (std::int64_t i = 0; i < length; ++i) {
            out[i] = (s + s) * x[i];
        }
    }
};

/// An integer result from double: the least number of the type where there is none, as the logarithm of 0.
template <class T>
T wholeOf(double result)
{
    return std::isfinite(result) ? static_cast<T>(result) : std::numeric_limits<T>::min();
}

/// √Σ x²; integers through double.
struct L2
{
    template <class T>
    static T value(const T* x, std::int64_t length)
    {
        if constexpr (std::is_floating_point_v<T>) {
            return std::sqrt(SumSquare::value(x, length));
        } else {
            return wholeOf<T>(std::sqrt(static_cast<double>(SumSquare::value(x, length))));
        }
    }
    template <class T>
    static void gradient(const T* x, std::int64_t length, T y, T s, T* out)
    {
        for (std::int64_t i = 0; i < length; ++i) {
            out[i] = y == T{0} ? T{0} : s * x[i] / y;
        }
    }
};

/// ln Σ x.
struct LogSum
{
    template <class T>
    static T value(const T* x, std::int64_t length)
    {
        using Sum = Accumulator<T>;
        const Sum sum = reference::pairwiseSum<Sum>(x, length, [](T v) { return static_cast<Sum>(v); });
        if constexpr (std::is_floating_point_v<T>) {
            return std::log(sum);
        } else {
            return wholeOf<T>(std::log(static_cast<double>(static_cast<T>(sum))));
        }
    }
    template <class T>
    static void gradient(const T* x, std::int64_t length, T, T s, T* out)
    {
        const T slope = s / reference::pairwiseSum<T>(x, length, [](T v) { return v; });
        for (std::int64_t i = 0; i < length; ++i) {
            out[i] = slope;
        }
    }
};

/// ln Σ eˣ, by the largest x.
struct LogSumExp
{
    template <class T>
    static T value(const T* x, std::int64_t length)
    {
        if constexpr (std::is_floating_point_v<T>) {
            T largest = -std::numeric_limits<T>::infinity();
            for (std::int64_t i = 0; i < length; ++i) {
                largest = std::max(largest, x[i]);
            }
            if (std::isinf(largest)) {
                return largest;
            }
            const T sum = reference::pairwiseSum<T>(x, length, [largest](T v) { return fastExp(v - largest); });
            return largest + std::log(sum);
        } else {
            const std::vector<double> wide(x, x + length);
            return wholeOf<T>(value(wide.data(), length));
        }
    }
    template <class T>
    static void gradient(const T* x, std::int64_t length, T y, T s, T* out)
    {
        for (std::int64_t i = 0; i < length; ++i) {
            out[i] = std::isinf(x[i]) && x[i] < T{0} ? T{0} : s * std::exp(x[i] - y);
        }
    }
};

/// Π x.
struct ProductOf
{
    template <class T>
    static T value(const T* x, std::int64_t length)
    {
        T product{1};
        for (std::int64_t i = 0; i < length; ++i) {
            product = times(product, x[i]);
        }
        return product;
    }
    /// Each element gets the product of the others: of those before it and of those after it.
    template <class T>
    static void gradient(const T* x, std::int64_t length, T, T s, T* out)
    {
        T before = s;
        for (std::int64_t i = 0; i < length; ++i) {
            out[i] = before;
            before *= x[i];
        }
        T after{1};
        for (std::int64_t i = length; i-- > 0;) {
            out[i] *= after;
            after *= x[i];
        }
    }
};

/// The largest (or smallest) element; NaN wins. Its gradient goes to the first of equal ones.
template <bool isMax>
struct ExtremeOf
{
    template <class T>
    static T value(const T* x, std::int64_t length)
    {
        using Limits = std::numeric_limits<T>;
        const T least = Limits::has_infinity ? -Limits::infinity() : Limits::lowest();
        const T most = Limits::has_infinity ? Limits::infinity() : Limits::max();
        T result = isMax ? least : most;
        for (std::int64_t i = 0; i < length; ++i) {
            const bool wins = isMax ? x[i] > result : x[i] < result;
            result = wins || x[i] != x[i] ? x[i] : result;
        }
        return result;
    }
    template <class T>
    static void gradient(const T* x, std::int64_t length, T y, T s, T* out)
    {
        bool isTaken = false;
        for (std::int64_t i = 0; i < length; ++i) {
            const bool takes = !isTaken && x[i] == y;
            out[i] = takes ? s : T{0};
            isTaken = isTaken || takes;
        }
    }
};

/// A reduction known by its value and its gradient.
class FunctionReduction final : public Operator<Differentiable>
{
public:
    /// `degree` as a function of the length of a row: 0 = as many as the row has elements.
    FunctionReduction(TensorType output, ReductionRows rows, RowReducer reducer, int degree)
        : Operator(std::move(output)), m_rows(std::move(rows)), m_reducer(reducer), m_degree(degree)
    {}

    [[nodiscard]] std::vector<Tensor> forward(std::span<const Tensor> operands) const override
    {
        return {m_rows.reduced(operands[0], m_reducer, m_outputTypes[0].shape)};
    }
    [[nodiscard]] Reads savedForGradient() const override { return {1, 1}; }
    [[nodiscard]] Tensor pullback(std::span<const Tensor> s, std::span<const Tensor> operands,
                                  std::span<const Tensor> outputs, std::size_t) const override
    {
        return m_rows.gradient(s[0], operands[0], outputs[0], m_reducer);
    }
    [[nodiscard]] double share(std::span<const std::uint8_t>, std::size_t) const override
    {
        return 1.0 / static_cast<double>(m_degree == 0 ? std::max<std::int64_t>(m_rows.length(), 1) : m_degree);
    }

private:
    ReductionRows m_rows;
    RowReducer m_reducer;
    int m_degree;
};

/// ReduceMax, ReduceMin: the winner of each row.
class ExtremeReduction final : public Operator<MaxPool>, public WindowSums, public PickedPlaces
{
public:
    ExtremeReduction(TensorType output, RowWindows windows, bool isMax)
        : Operator(std::move(output)), m_windows(std::move(windows)), m_isMax(isMax),
          m_reducer(isMax ? rowReducer<ExtremeOf<true>>() : rowReducer<ExtremeOf<false>>())
    {}

    [[nodiscard]] std::vector<Tensor> forward(std::span<const Tensor> operands) const override
    {
        return {m_windows.rows().reduced(operands[0], m_reducer, m_outputTypes[0].shape)};
    }
    [[nodiscard]] Reads savedForGradient() const override { return Reads::firstOperand(); }
    [[nodiscard]] Tensor route(const Tensor& s, const Tensor& x) const override
    {
        return m_windows.rows().gradient(s, x, m_windows.rows().reduced(x, m_reducer, m_outputTypes[0].shape),
                                         m_reducer);
    }
    [[nodiscard]] bool smallestWins() const override { return !m_isMax; }
    /// No element is in two windows: what one hands to its winner stands alone there.
    [[nodiscard]] Tensor pick(const Tensor& t, std::span<const Tensor> operands) const override
    {
        const Tensor ones = Tensor::full(t.dtype(), m_outputTypes[0].shape, 1);
        return sumWindows(algebra::multiply(route(ones, operands[0]), t));
    }
    [[nodiscard]] Tensor sumWindows(const Tensor& x) const override
    {
        return m_windows.sum(x).reshaped(m_outputTypes[0].shape);
    }
    [[nodiscard]] Tensor spreadWindows(const Tensor& s) const override { return m_windows.spread(s); }
    [[nodiscard]] Tensor shareBySoftmax(const Tensor& s, const Tensor& x, double beta) const override
    {
        return m_windows.shareBySoftmax(s, x, beta);
    }
    [[nodiscard]] Tensor averageBySoftmax(const Tensor& t, const Tensor& x, double beta) const override
    {
        const Tensor ones = Tensor::full(t.dtype(), m_outputTypes[0].shape, 1);
        return sumWindows(algebra::multiply(shareBySoftmax(ones, x, beta), t));
    }

private:
    RowWindows m_windows;
    bool m_isMax;
    RowReducer m_reducer;
};

constexpr std::int64_t kAxesOperandSince = 18;

base::Result<void> expectNumber(const BindContext& context, bool allowsBool)
{
    if (firstType(context).dtype == DType::Bool && !allowsBool) {
        return context.error("the operand is bool, but must be a number; insert a Cast");
    }
    return {};
}

template <class F, int degree>
BoundResult bindFunction(const BindContext& context)
{
    RETRO_TRY(ReducePlan plan, reducePlan(context, kAxesOperandSince));
    RETRO_CHECK(expectNumber(context, false));
    const TensorType& operand = firstType(context);
    return bound<FunctionReduction>(TensorType{operand.dtype, std::move(plan.result)},
                                    ReductionRows(operand.shape, std::move(plan.axes)), rowReducer<F>(), degree);
}

template <bool isMax>
BoundResult bindExtreme(const BindContext& context)
{
    RETRO_TRY(ReducePlan plan, reducePlan(context, kAxesOperandSince));
    RETRO_CHECK(expectNumber(context, context.node.opset >= 20));
    const TensorType& operand = firstType(context);
    RowWindows windows(operand.shape, plan.axes, isMax);
    if (windows.rows().length() == 0 && !tensor::isFloating(operand.dtype) && tensor::elementCount(plan.result) > 0) {
        return context.error("the extreme of no elements is defined for floats only");
    }
    return bound<ExtremeReduction>(TensorType{operand.dtype, std::move(plan.result)}, std::move(windows), isMax);
}

} // namespace

const OperatorFamily kReduceFunctionOperators{
    {"", "ReduceL1", 1, 0, "function", true, bindFunction<L1, 1>},
    {"", "ReduceL2", 1, 0, "function", true, bindFunction<L2, 1>},
    {"", "ReduceLogSum", 1, 0, "function", true, bindFunction<LogSum, 1>},
    {"", "ReduceLogSumExp", 1, 0, "function", true, bindFunction<LogSumExp, 1>},
    {"", "ReduceMax", 1, 0, "max pool", true, bindExtreme<true>},
    {"", "ReduceMin", 1, 0, "max pool", true, bindExtreme<false>},
    {"", "ReduceProd", 1, 0, "function", true, bindFunction<ProductOf, 0>},
    {"", "ReduceSumSquare", 1, 0, "function", true, bindFunction<SumSquare, 2>},
};

} // namespace retro::ops
