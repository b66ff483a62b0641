// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/ops/bind/bindcheck.h"
#include "core/ops/bind/operatorbase.h"
#include "core/ops/kernel/rowloop.h"

#include <array>
#include <string_view>

namespace retro::ops
{

/// A floating attribute of a function, and what it is when the node does not give it.
struct RowAttribute
{
    std::string_view name;
    double fallback;
};

/// What a function takes unless it says otherwise. Functions are structs without members and with
///   template <class T> static T value(T x, RowParameters)   f(x)
///   template <class T> static T slope(T v, RowParameters)   f′(x), where v is y when kKeepsResult, else x
///   kAttributes                                             at most two; they become the parameters a and b
///   kTakesIntegers                                          value() is defined for int64 and uint64 as well
///   kIsVectorised                                           rowloop.h: compiled for every width of registers
struct KeepsOperand
{
    static constexpr bool kKeepsResult = false;
    static constexpr bool kIsVectorised = false;
    static constexpr bool kTakesIntegers = false;
    static constexpr std::array<RowAttribute, 0> kAttributes{};
};
struct KeepsResult : KeepsOperand
{
    static constexpr bool kKeepsResult = true;
};

/// f and f′ for all types; adapts a function's slope() to the row functions.
template <class F>
struct SlopeOf
{
    static constexpr bool kIsVectorised = F::kIsVectorised;

    template <class T>
    static T value(T v, RowParameters parameters)
    {
        return F::slope(v, parameters);
    }
};
struct RowFunctions
{
    NumberRows value;
    NumberRows slope;
    bool keepsResult = false;
};
template <class F>
constexpr RowFunctions rowFunctionsOf()
{
    if constexpr (F::kTakesIntegers) {
        return {unaryNumbers<F>(), unaryFloats<SlopeOf<F>>(), F::kKeepsResult};
    } else {
        return {unaryFloats<F>(), unaryFloats<SlopeOf<F>>(), F::kKeepsResult};
    }
}

/// y = f(x) by row functions.
class RowActivation final : public Operator<ElementWise>, public RowsOver
{
public:
    RowActivation(TensorType output, RowFunctions functions, RowParameters parameters = {})
        : Operator(std::move(output)), m_functions(functions), m_parameters(parameters)
    {}

    [[nodiscard]] std::vector<Tensor> forward(std::span<const Tensor> operands) const override;
    [[nodiscard]] std::vector<Tensor> forwardOver(std::span<Tensor> operands) const override;
    [[nodiscard]] const RowsOver* rowsOver() const override { return this; }
    void over(float* row, std::int64_t count) const override;
    [[nodiscard]] Reads savedForGradient() const override
    {
        return m_functions.keepsResult ? Reads::firstOutput() : Reads::firstOperand();
    }
    [[nodiscard]] Tensor derivative(const Tensor& x, const Tensor& y) const override;
    [[nodiscard]] bool derivativeReadsOutput() const override { return m_functions.keepsResult; }

private:
    RowFunctions m_functions;
    RowParameters m_parameters;
};

/// Binds a function of one operand with its attributes.
[[nodiscard]] BoundResult bindRowActivation(const BindContext& context, const RowFunctions& functions,
                                            std::span<const RowAttribute> attributes);

template <class F>
BoundResult bindRows(const BindContext& context)
{
    return bindRowActivation(context, rowFunctionsOf<F>(), F::kAttributes);
}

} // namespace retro::ops
