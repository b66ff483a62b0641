// SPDX-License-Identifier: Apache-2.0
// Functions of one operand: elementary functions, trigonometry, and the activations that are not in activation.cpp.
#include "core/ops/bind/bindcheck.h"
#include "core/ops/bind/operatorbase.h"
#include "core/ops/families.h"
#include "core/ops/kernel/logistic.h"
#include "core/ops/kernel/mapover.h"
#include "core/ops/kernel/rowloop.h"

#include <array>
#include <cmath>
#include <numbers>
#include <string_view>

namespace retro::ops
{

namespace
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

std::vector<Tensor> RowActivation::forward(std::span<const Tensor> operands) const
{
    const TensorType& type = m_outputTypes[0];
    return {mapNumbers(m_functions.value, type.dtype, type.shape, operands.first(1), m_parameters)};
}

void RowActivation::over(float* row, std::int64_t count) const
{
    const void* const in = row;
    m_functions.value.f32(&in, row, count, m_parameters);
}

std::vector<Tensor> RowActivation::forwardOver(std::span<Tensor> operands) const
{
    constexpr std::int64_t kPiece = 32768;
    float* const out = m_outputTypes[0].dtype == tensor::DType::Float32 ? writable<float>(operands[0]) : nullptr;
    if (out == nullptr) {
        return forward(operands);
    }
    parallelFor(operands[0].size(), kPiece,
                [&](std::int64_t begin, std::int64_t end) { over(out + begin, end - begin); });
    return {std::move(operands[0])};
}

Tensor RowActivation::derivative(const Tensor& x, const Tensor& y) const
{
    Tensor source = x;
    if (m_functions.keepsResult) {
        source = y.isValid() ? y : forward(std::span(&x, 1)).front();
    }
    return mapNumbers(m_functions.slope, source.dtype(), source.shape(), {source}, m_parameters);
}

/// Binds a function of one operand with its attributes.
BoundResult bindRowActivation(const BindContext& context, const RowFunctions& functions,
                              std::span<const RowAttribute> attributes)
{
    const bool takesIntegers = functions.value.i64 != nullptr;
    RETRO_CHECK(expect(context, takesIntegers ? OperandTypes::AllNumbers : OperandTypes::Floats));
    RowParameters parameters;
    for (std::size_t i = 0; i < attributes.size(); ++i) {
        (i == 0 ? parameters.a : parameters.b) = context.floatAttribute(attributes[i].name, attributes[i].fallback);
    }
    return bound<RowActivation>(firstType(context), functions, parameters);
}

template <class F>
BoundResult bindRows(const BindContext& context)
{
    return bindRowActivation(context, rowFunctionsOf<F>(), F::kAttributes);
}

template <class T>
constexpr T as(double value)
{
    return static_cast<T>(value);
}

struct Reciprocal : KeepsResult
{
    static constexpr bool kIsVectorised = true;

    static auto value(auto x, RowParameters) { return 1 / x; }
    static auto slope(auto y, RowParameters) { return -y * y; }
};

struct Sqrt : KeepsResult
{
    static constexpr bool kIsVectorised = true;

    static auto value(auto x, RowParameters) { return std::sqrt(x); }
    static auto slope(auto y, RowParameters) { return 1 / (y + y); }
};

struct Log : KeepsOperand
{
    static auto value(auto x, RowParameters) { return std::log(x); }
    static auto slope(auto x, RowParameters) { return 1 / x; }
};

/// 2/√π · ∫₀ˣ e^(−t²) dt.
struct Erf : KeepsOperand
{
    static constexpr bool kIsVectorised = true;

    static auto value(auto x, RowParameters) { return fastErf(x); }
    template <class T>
    static T slope(T x, RowParameters)
    {
        return as<T>(2 * std::numbers::inv_sqrtpi) * fastExp(-x * x);
    }
};

struct Sin : KeepsOperand
{
    static auto value(auto x, RowParameters) { return std::sin(x); }
    static auto slope(auto x, RowParameters) { return std::cos(x); }
};

struct Cos : KeepsOperand
{
    static auto value(auto x, RowParameters) { return std::cos(x); }
    static auto slope(auto x, RowParameters) { return -std::sin(x); }
};

struct Tan : KeepsResult
{
    static auto value(auto x, RowParameters) { return std::tan(x); }
    static auto slope(auto y, RowParameters) { return 1 + y * y; }
};

struct Asin : KeepsOperand
{
    static auto value(auto x, RowParameters) { return std::asin(x); }
    static auto slope(auto x, RowParameters) { return 1 / std::sqrt(1 - x * x); }
};

struct Acos : KeepsOperand
{
    static auto value(auto x, RowParameters) { return std::acos(x); }
    static auto slope(auto x, RowParameters) { return -1 / std::sqrt(1 - x * x); }
};

struct Atan : KeepsOperand
{
    static auto value(auto x, RowParameters) { return std::atan(x); }
    static auto slope(auto x, RowParameters) { return 1 / (1 + x * x); }
};

struct Sinh : KeepsOperand
{
    static auto value(auto x, RowParameters) { return std::sinh(x); }
    static auto slope(auto x, RowParameters) { return std::cosh(x); }
};

struct Cosh : KeepsOperand
{
    static auto value(auto x, RowParameters) { return std::cosh(x); }
    static auto slope(auto x, RowParameters) { return std::sinh(x); }
};

struct Asinh : KeepsOperand
{
    static auto value(auto x, RowParameters) { return std::asinh(x); }
    static auto slope(auto x, RowParameters) { return 1 / std::sqrt(x * x + 1); }
};

struct Acosh : KeepsOperand
{
    static auto value(auto x, RowParameters) { return std::acosh(x); }
    static auto slope(auto x, RowParameters) { return 1 / std::sqrt(x * x - 1); }
};

struct Atanh : KeepsOperand
{
    static auto value(auto x, RowParameters) { return std::atanh(x); }
    static auto slope(auto x, RowParameters) { return 1 / (1 - x * x); }
};

/// |x|, of integers too; the derivative at 0 is 0.
struct Abs : KeepsOperand
{
    static constexpr bool kTakesIntegers = true;

    template <class T>
    static T value(T x, RowParameters)
    {
        if constexpr (std::is_floating_point_v<T>) {
            return std::abs(x);
        } else if constexpr (std::is_signed_v<T>) {
            return x < 0 ? static_cast<T>(0U - static_cast<std::make_unsigned_t<T>>(x)) : x;
        } else {
            return x;
        }
    }
    template <class T>
    static T slope(T x, RowParameters)
    {
        return x > T{0} ? T{1} : x < T{0} ? T{-1} : T{0};
    }
};

/// x / (1 + |x|).
struct Softsign : KeepsOperand
{
    static constexpr bool kIsVectorised = true;

    static auto value(auto x, RowParameters) { return x / (1 + std::abs(x)); }
    template <class T>
    static T slope(T x, RowParameters)
    {
        const T d = T{1} + std::abs(x);
        return T{1} / (d * d);
    }
};

/// x · max(0, min(1, x/6 + 1/2)).
struct HardSwish : KeepsOperand
{
    static constexpr bool kIsVectorised = true;

    template <class T>
    static T value(T x, RowParameters)
    {
        const T gate = x / T{6} + T{1} / T{2};
        return x * (gate <= T{0} ? T{0} : gate >= T{1} ? T{1} : gate);
    }
    template <class T>
    static T slope(T x, RowParameters)
    {
        return x <= T{-3} ? T{0} : x >= T{3} ? T{1} : x / T{3} + T{1} / T{2};
    }
};

/// x · tanh(ln(1 + eˣ)).
struct Mish : KeepsOperand
{
    static constexpr bool kIsVectorised = true;

    /// The tangent, by e = e^(−|x|), which never overflows: (1 + 2e) / (1 + 2e + 2e²), or (e² + 2e) / (e² + 2e + 2).
    template <class T>
    static T gate(T x)
    {
        const T e = fastExpBelowZero(-std::abs(x));
        const T above = T{1} + e + e;
        const T below = e * (e + T{2});
        return x >= T{0} ? above / (above + T{2} * e * e) : below / (below + T{2});
    }
    static auto value(auto x, RowParameters) { return x * gate(x); }
    template <class T>
    static T slope(T x, RowParameters)
    {
        const T g = gate(x);
        return g + x * (T{1} - g * g) * logistic(x);
    }
};

/// x · Φ(x), with the normal distribution Φ (Hendrycks and Gimpel 2016).
struct Gelu : KeepsOperand
{
    static constexpr bool kIsVectorised = true;

    template <class T>
    static T share(T x)
    {
        return (T{1} + fastErf(x * as<T>(1 / std::numbers::sqrt2))) / T{2};
    }
    static auto value(auto x, RowParameters) { return x * share(x); }
    template <class T>
    static T slope(T x, RowParameters)
    {
        return share(x) + x * fastExp(-x * x / T{2}) * as<T>(std::numbers::inv_sqrtpi / std::numbers::sqrt2);
    }
};

/// x/2 · (1 + tanh(√(2/π)·(x + 0.044715·x³))).
struct GeluByTanh : KeepsOperand
{
    static constexpr bool kIsVectorised = true;

    template <class T>
    static T gate(T x)
    {
        return fastTanh(as<T>(std::numbers::sqrt2 * std::numbers::inv_sqrtpi) * (x + as<T>(0.044715) * x * x * x));
    }
    static auto value(auto x, RowParameters) { return x / 2 * (1 + gate(x)); }
    template <class T>
    static T slope(T x, RowParameters)
    {
        const T g = gate(x);
        const T inner = as<T>(std::numbers::sqrt2 * std::numbers::inv_sqrtpi) * (T{1} + as<T>(3 * 0.044715) * x * x);
        return (T{1} + g + x * (T{1} - g * g) * inner) / T{2};
    }
};

/// x · σ(α·x).
struct Swish : KeepsOperand
{
    static constexpr bool kIsVectorised = true;
    static constexpr std::array kAttributes{RowAttribute{"alpha", 1}};

    template <class T>
    static T value(T x, RowParameters p)
    {
        return timesLogistic(x, as<T>(p.a));
    }
    template <class T>
    static T slope(T x, RowParameters p)
    {
        const T gate = logistic(as<T>(p.a) * x);
        return gate + as<T>(p.a) * x * gate * (T{1} - gate);
    }
};

/// max(0, x) + min(0, α·(e^(x/α) − 1)).
struct Celu : KeepsOperand
{
    static constexpr std::array kAttributes{RowAttribute{"alpha", 1}};

    template <class T>
    static T value(T x, RowParameters p)
    {
        return x > T{0} ? x : as<T>(p.a) * std::expm1(x / as<T>(p.a));
    }
    template <class T>
    static T slope(T x, RowParameters p)
    {
        return x > T{0} ? T{1} : std::exp(x / as<T>(p.a));
    }
};

/// x where x > α, else 0.
struct ThresholdedRelu : KeepsOperand
{
    static constexpr std::array kAttributes{RowAttribute{"alpha", 1}};

    template <class T>
    static T value(T x, RowParameters p)
    {
        return x <= as<T>(p.a) ? T{0} : x;
    }
    template <class T>
    static T slope(T x, RowParameters p)
    {
        return x > as<T>(p.a) ? T{1} : T{0};
    }
};

/// x + bias below −λ, x − bias above λ, else 0; of integers too.
struct Shrink : KeepsOperand
{
    static constexpr bool kTakesIntegers = true;
    static constexpr std::array kAttributes{RowAttribute{"lambd", 0.5}, RowAttribute{"bias", 0}};

    static auto shrunk(auto x, auto limit, auto bias) { return x < -limit ? x + bias : x > limit ? x - bias : 0; }
    template <class T>
    static T value(T x, RowParameters p)
    {
        if constexpr (std::is_floating_point_v<T>) {
            return shrunk(x, as<T>(p.a), as<T>(p.b));
        } else {
            return static_cast<T>(shrunk(static_cast<double>(x), p.a, p.b));
        }
    }
    template <class T>
    static T slope(T x, RowParameters p)
    {
        return x < as<T>(-p.a) || x > as<T>(p.a) ? T{1} : T{0};
    }
};

BoundResult bindGelu(const BindContext& context)
{
    RETRO_CHECK(expect(context, OperandTypes::Floats));
    const std::string form = context.textAttribute("approximate", "none");
    if (form == "none") {
        return bound<RowActivation>(firstType(context), rowFunctionsOf<Gelu>());
    }
    if (form == "tanh") {
        return bound<RowActivation>(firstType(context), rowFunctionsOf<GeluByTanh>());
    }
    return context.error("approximate is '" + form + "'; only 'none' and 'tanh' are known");
}

} // namespace

const OperatorFamily kUnaryOperators{
    {"", "Abs", 1, 0, "element-wise", true, bindRows<Abs>},
    {"", "Acos", 7, 0, "element-wise", true, bindRows<Acos>},
    {"", "Acosh", 9, 0, "element-wise", true, bindRows<Acosh>},
    {"", "Asin", 7, 0, "element-wise", true, bindRows<Asin>},
    {"", "Asinh", 9, 0, "element-wise", true, bindRows<Asinh>},
    {"", "Atan", 7, 0, "element-wise", true, bindRows<Atan>},
    {"", "Atanh", 9, 0, "element-wise", true, bindRows<Atanh>},
    {"", "Celu", 12, 0, "element-wise", true, bindRows<Celu>},
    {"", "Cos", 7, 0, "element-wise", true, bindRows<Cos>},
    {"", "Cosh", 9, 0, "element-wise", true, bindRows<Cosh>},
    {"", "Erf", 9, 0, "element-wise", true, bindRows<Erf>},
    {"", "Gelu", 20, 0, "element-wise", true, bindGelu},
    {"", "HardSwish", 14, 0, "element-wise", true, bindRows<HardSwish>},
    {"", "Log", 1, 0, "element-wise", true, bindRows<Log>},
    {"", "Mish", 18, 0, "element-wise", true, bindRows<Mish>},
    {"", "Reciprocal", 1, 0, "element-wise", true, bindRows<Reciprocal>},
    {"", "Shrink", 9, 0, "element-wise", true, bindRows<Shrink>},
    {"", "Sin", 7, 0, "element-wise", true, bindRows<Sin>},
    {"", "Sinh", 9, 0, "element-wise", true, bindRows<Sinh>},
    {"", "Softsign", 1, 0, "element-wise", true, bindRows<Softsign>},
    {"", "Sqrt", 1, 0, "element-wise", true, bindRows<Sqrt>},
    {"", "Swish", 24, 0, "element-wise", true, bindRows<Swish>},
    {"", "Tan", 7, 0, "element-wise", true, bindRows<Tan>},
    {"", "ThresholdedRelu", 1, 0, "element-wise", true, bindRows<ThresholdedRelu>},
};

} // namespace retro::ops
