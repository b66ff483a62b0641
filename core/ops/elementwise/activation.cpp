// SPDX-License-Identifier: Apache-2.0
#include "core/ops/elementwise/activation.h"

#include "core/ops/bind/bindcheck.h"
#include "core/ops/families.h"
#include "core/ops/kernel/logistic.h"
#include "core/ops/logic/rowoperator.h"

#include <cmath>

namespace retro::ops
{

namespace
{

struct ReadsOutput
{
    static constexpr bool kReadsOutput = true;
    static constexpr bool kIsRelu = false;
    static constexpr bool kIsVectorised = true;
};

/// max(x, 0); NaN stays NaN. The derivative at 0 is 0.
struct Relu
{
    static constexpr bool kReadsOutput = true;
    static constexpr bool kIsRelu = true;
    static constexpr bool kIsVectorised = true;

    [[nodiscard]] auto value(auto x) const { return x <= 0 ? 0 : x; }
    template <class T>
    [[nodiscard]] T slope(T y) const
    {
        return y > T{0} ? T{1} : T{0};
    }
};

struct Sigmoid : ReadsOutput
{
    [[nodiscard]] auto value(auto x) const { return logistic(x); }
    [[nodiscard]] auto slope(auto y) const { return y * (1 - y); }
};

struct Tanh : ReadsOutput
{
    [[nodiscard]] auto value(auto x) const { return fastTanh(x); }
    [[nodiscard]] auto slope(auto y) const { return 1 - y * y; }
};

struct Exponential : ReadsOutput
{
    [[nodiscard]] auto value(auto x) const { return fastExp(x); }
    [[nodiscard]] auto slope(auto y) const { return y; }
};

/// factor · (x for x > 0, else alpha·(eˣ − 1)): Elu, and Selu with its two constants.
struct Elu : ReadsOperand
{
    double alpha = 1;
    double factor = 1;

    template <class T>
    [[nodiscard]] T value(T x) const
    {
        return static_cast<T>(factor) * (x > T{0} ? x : static_cast<T>(alpha) * std::expm1(x));
    }
    template <class T>
    [[nodiscard]] T slope(T x) const
    {
        return static_cast<T>(factor) * (x > T{0} ? T{1} : static_cast<T>(alpha) * std::exp(x));
    }
};

struct LeakyRelu : ReadsOperand
{
    static constexpr bool kIsVectorised = true;

    double alpha = 0.01;

    template <class T>
    [[nodiscard]] T value(T x) const
    {
        return x > T{0} ? x : static_cast<T>(alpha) * x;
    }
    template <class T>
    [[nodiscard]] T slope(T x) const
    {
        return x > T{0} ? T{1} : static_cast<T>(alpha);
    }
};

/// max(0, min(1, alpha·x + beta)).
struct HardSigmoid : ReadsOperand
{
    static constexpr bool kIsVectorised = true;

    double alpha = 0.2;
    double beta = 0.5;

    template <class T>
    [[nodiscard]] T value(T x) const
    {
        const T line = static_cast<T>(alpha) * x + static_cast<T>(beta);
        return line <= T{0} ? T{0} : line >= T{1} ? T{1} : line;
    }
    template <class T>
    [[nodiscard]] T slope(T x) const
    {
        const T line = static_cast<T>(alpha) * x + static_cast<T>(beta);
        return line > T{0} && line < T{1} ? static_cast<T>(alpha) : T{0};
    }
};

/// ln(1 + eˣ).
struct Softplus : ReadsOperand
{
    [[nodiscard]] auto value(auto x) const { return std::log1p(std::exp(-std::abs(x))) + (x > 0 ? x : 0); }
    [[nodiscard]] auto slope(auto x) const { return logistic(x); }
};

template <class F>
BoundResult bindPlain(const BindContext& context)
{
    RETRO_CHECK(expect(context, OperandTypes::Floats));
    return bound<Activation<F>>(firstType(context), F{});
}

struct PositivePart
{
    static auto value(auto x, RowParameters) { return x < 0 ? 0 : x; }
};

/// Since opset 14, Relu takes integers as well.
BoundResult bindRelu(const BindContext& context)
{
    RETRO_CHECK(expect(context, OperandTypes::AllNumbers));
    if (tensor::isFloating(firstType(context).dtype)) {
        return bound<Activation<Relu>>(firstType(context), Relu{});
    }
    if (context.node.opset < 14) {
        return context.error("integers are for opset 14 and newer; insert a Cast");
    }
    return bound<RowOperator>(firstType(context), unaryNumbers<PositivePart>());
}

BoundResult bindElu(const BindContext& context)
{
    RETRO_CHECK(expect(context, OperandTypes::Floats));
    Elu function;
    function.alpha = context.floatAttribute("alpha", 1);
    return bound<Activation<Elu>>(firstType(context), function);
}

BoundResult bindSelu(const BindContext& context)
{
    RETRO_CHECK(expect(context, OperandTypes::Floats));
    const bool isFirstForm = context.node.opset < 6;
    Elu function;
    function.alpha = context.floatAttribute("alpha", isFirstForm ? 1.6732 : 1.67326319217681884765625);
    function.factor = context.floatAttribute("gamma", isFirstForm ? 1.0507 : 1.05070102214813232421875);
    return bound<Activation<Elu>>(firstType(context), function);
}

BoundResult bindLeakyRelu(const BindContext& context)
{
    RETRO_CHECK(expect(context, OperandTypes::Floats));
    LeakyRelu function;
    function.alpha = context.floatAttribute("alpha", 0.01);
    return bound<Activation<LeakyRelu>>(firstType(context), function);
}

BoundResult bindHardSigmoid(const BindContext& context)
{
    RETRO_CHECK(expect(context, OperandTypes::Floats));
    HardSigmoid function;
    function.alpha = context.floatAttribute("alpha", 0.2);
    function.beta = context.floatAttribute("beta", 0.5);
    return bound<Activation<HardSigmoid>>(firstType(context), function);
}

} // namespace

const OperatorFamily kActivationOperators{
    {"", "Relu", 1, 0, "element-wise", true, bindRelu},
    {"", "Sigmoid", 1, 0, "element-wise", true, bindPlain<Sigmoid>},
    {"", "Tanh", 1, 0, "element-wise", true, bindPlain<Tanh>},
    {"", "Exp", 1, 0, "element-wise", true, bindPlain<Exponential>},
    {"", "Softplus", 1, 0, "element-wise", true, bindPlain<Softplus>},
    {"", "Elu", 1, 0, "element-wise", true, bindElu},
    {"", "Selu", 1, 0, "element-wise", true, bindSelu},
    {"", "LeakyRelu", 1, 0, "element-wise", true, bindLeakyRelu},
    {"", "HardSigmoid", 1, 0, "element-wise", true, bindHardSigmoid},
};

} // namespace retro::ops
