// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/ops/bind/operatorbase.h"
#include "core/ops/kernel/elementloop.h"
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
template <class F>
class Activation final : public Operator<ElementWise>
{
public:
    Activation(TensorType output, F function) : Operator(std::move(output)), m_function(function) {}

    [[nodiscard]] std::vector<Tensor> forward(std::span<const Tensor> operands) const override
    {
        return {valueOf(operands[0])};
    }
    [[nodiscard]] Reads savedForGradient() const override
    {
        return F::kReadsOutput ? Reads::firstOutput() : Reads::firstOperand();
    }
    [[nodiscard]] Tensor derivative(const Tensor& x, const Tensor& y) const override
    {
        const Tensor source = !F::kReadsOutput ? x : y.isValid() ? y : valueOf(x);
        return visitFloat(source.dtype(), [&](auto zero) {
            using T = decltype(zero);
            return mapElements<T>(source, [this](T v) { return m_function.template slope<T>(v); });
        });
    }
    [[nodiscard]] bool derivativeReadsOutput() const override { return F::kReadsOutput; }
    [[nodiscard]] bool isRelu() const override { return F::kIsRelu; }

private:
    [[nodiscard]] Tensor valueOf(const Tensor& x) const
    {
        return visitFloat(x.dtype(), [&](auto zero) {
            using T = decltype(zero);
            return mapElements<T>(x, [this](T v) { return m_function.template value<T>(v); });
        });
    }

    F m_function;
};

} // namespace retro::ops
