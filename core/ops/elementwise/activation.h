// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/ops/bind/operatorbase.h"
#include "core/ops/kernel/mapover.h"
#include "core/ops/kernel/visitnumber.h"

namespace retro::ops
{

/// Base of functions whose gradient keeps operand 0.
struct ReadsOperand
{
    static constexpr bool kReadsOutput = false;
    static constexpr bool kIsRelu = false;
};

/// An activation y = f(x). F is a small struct with
///   template <class T> T value(T x) const      f(x)
///   template <class T> T slope(T v) const      f′(x), where v is y when kReadsOutput, else x
///   static constexpr bool kReadsOutput          what its gradient keeps: the result, else operand 0
///   static constexpr bool kIsRelu
///   static constexpr bool kIsVectorised         optional: value() and slope() have no branches and call no library
template <class F>
class Activation final : public Operator<ElementWise>, public RowsOver
{
public:
    Activation(TensorType output, F function) : Operator(std::move(output)), m_function(function) {}

    [[nodiscard]] std::vector<Tensor> forward(std::span<const Tensor> operands) const override
    {
        return {valueOf(operands[0])};
    }
    [[nodiscard]] std::vector<Tensor> forwardOver(std::span<Tensor> operands) const override
    {
        Tensor x = std::move(operands[0]);
        return {visitFloat(x.dtype(),
                           [&](auto zero) { return mapOver<decltype(zero)>(std::move(x), Value{{m_function}}); })};
    }
    [[nodiscard]] const RowsOver* rowsOver() const override { return this; }
    void over(float* row, std::int64_t count) const override { mapRow(row, 1, row, 1, count, Value{{m_function}}); }
    [[nodiscard]] Reads savedForGradient() const override
    {
        return F::kReadsOutput ? Reads::firstOutput() : Reads::firstOperand();
    }
    [[nodiscard]] Tensor derivative(const Tensor& x, const Tensor& y) const override
    {
        const Tensor source = !F::kReadsOutput ? x : y.isValid() ? y : valueOf(x);
        return visitFloat(source.dtype(), [&](auto zero) {
            using T = decltype(zero);
            return mapElements<T>(source, Slope{{m_function}});
        });
    }
    [[nodiscard]] bool derivativeReadsOutput() const override { return F::kReadsOutput; }
    [[nodiscard]] bool isRelu() const override { return F::kIsRelu; }

private:
    /// The function and its slope as loops take them.
    struct PlainValue
    {
        F f;
        template <class T>
        T operator()(T x) const
        {
            return f.template value<T>(x);
        }
    };
    struct PlainSlope
    {
        F f;
        template <class T>
        T operator()(T v) const
        {
            return f.template slope<T>(v);
        }
    };
    template <class Plain>
    using Loop = std::conditional_t < requires
    {
        F::kIsVectorised;
    }
    , Vectorised<Plain>, Plain > ;
    using Value = Loop<PlainValue>;
    using Slope = Loop<PlainSlope>;

    [[nodiscard]] Tensor valueOf(const Tensor& x) const
    {
        return visitFloat(x.dtype(), [&](auto zero) {
            using T = decltype(zero);
            return mapElements<T>(x, Value{{m_function}});
        });
    }

    F m_function;
};

} // namespace retro::ops
