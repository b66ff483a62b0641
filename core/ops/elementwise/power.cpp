// SPDX-License-Identifier: Apache-2.0
#include "core/ops/algebra.h"
#include "core/ops/bind/bindcheck.h"
#include "core/ops/bind/oldbroadcast.h"
#include "core/ops/bind/operatorbase.h"
#include "core/ops/elementwise/zerodivisor.h"
#include "core/ops/families.h"
#include "core/ops/kernel/rowloop.h"

#include <array>
#include <cmath>

namespace retro::ops
{

namespace
{

using tensor::DType;
using tensor::Shape;

/// base^exponent for a negative exponent: 1, −1, or 0 for a fraction.
template <class T>
T inversePower(T base, T exponent)
{
    if (base == static_cast<T>(-1)) {
        return exponent % 2 == 0 ? T{1} : base;
    }
    return base == 1 ? T{1} : T{0};
}

/// base^exponent by squaring, wrapping around.
template <class T>
T integerPower(T base, T exponent)
{
    if (exponent < 0) {
        return inversePower(base, exponent);
    }
    std::uint64_t result = 1;
    auto factor = static_cast<std::uint64_t>(base);
    for (auto rest = static_cast<std::uint64_t>(exponent); rest > 0; rest >>= 1U) {
        result *= (rest & 1U) != 0 ? factor : 1;
        factor *= factor;
    }
    return static_cast<T>(result);
}

struct Power
{
    template <class T>
    static T value(T x, T c, RowParameters)
    {
        if constexpr (std::is_floating_point_v<T>) {
            return std::pow(x, c);
        } else {
            return integerPower(x, c);
        }
    }
};

/// x² and x³, by far the commonest powers (variances, GELU by tanh), without the general function.
struct Square
{
    static auto value(auto x, RowParameters) { return x * x; }
};
struct Cube
{
    static auto value(auto x, RowParameters) { return x * x * x; }
};

/// c·x^(c − 1), and 0 for c = 0 whatever x is.
struct PowerSlope
{
    static auto value(auto x, auto c, RowParameters) { return c == 0 ? 0 : c * std::pow(x, c - 1); }
};

/// x^c · ln x; 0 where x is 0, where the limit is 0 for a positive c.
struct ExponentSlope
{
    static auto value(auto x, auto c, RowParameters) { return x == 0 && c >= 0 ? 0 : std::pow(x, c) * std::log(x); }
};

/// x^c in the type of x. An exponent of another type is converted; integers with a floating exponent go through double.
Tensor powerOf(const Tensor& x, const Tensor& c, const TensorType& type)
{
    const bool isMixed = !tensor::isFloating(x.dtype()) && tensor::isFloating(c.dtype());
    const DType computing = isMixed ? DType::Float64 : computingType(x.dtype());
    const Tensor y =
        mapRows(binaryNumbers<Power>().of(computing), computing, type.shape, {x.to(computing), c.to(computing)});
    return y.to(type.dtype);
}

/// x^c with a constant exponent that broadcasts to x: an activation.
class PowerByConstant final : public Operator<ElementWise>
{
public:
    PowerByConstant(TensorType output, Tensor exponent) : Operator(std::move(output)), m_exponent(std::move(exponent))
    {
        if (m_exponent.size() == 1 && tensor::isFloating(m_outputTypes[0].dtype)) {
            m_factors = m_exponent.at(0) == 2 ? 2 : m_exponent.at(0) == 3 ? 3 : 0;
        }
    }

    [[nodiscard]] std::vector<Tensor> forward(std::span<const Tensor> operands) const override
    {
        const TensorType& type = m_outputTypes[0];
        if (m_factors == 0) {
            return {powerOf(operands[0], m_exponent, type)};
        }
        const NumberRows rows = m_factors == 2 ? unaryFloats<Square>() : unaryFloats<Cube>();
        return {mapNumbers(rows, type.dtype, type.shape, operands.first(1))};
    }
    [[nodiscard]] Reads savedForGradient() const override { return Reads::firstOperand(); }
    [[nodiscard]] Tensor derivative(const Tensor& x, const Tensor&) const override
    {
        return mapNumbers(binaryFloats<PowerSlope>(), x.dtype(), x.shape(), {x, m_exponent.to(x.dtype())});
    }
    [[nodiscard]] bool derivativeReadsOutput() const override { return false; }

private:
    Tensor m_exponent;
    int m_factors = 0; ///< of a product that stands for the power; 0: none does
};

class PowerOfOperands final : public Operator<Differentiable>
{
public:
    explicit PowerOfOperands(TensorType output) : Operator(std::move(output)) {}

    [[nodiscard]] std::vector<Tensor> forward(std::span<const Tensor> operands) const override
    {
        return {powerOf(operands[0], operands[1], m_outputTypes[0])};
    }
    [[nodiscard]] Reads savedForGradient() const override { return Reads::allOperands(); }
    [[nodiscard]] Tensor pullback(std::span<const Tensor> s, std::span<const Tensor> operands, std::span<const Tensor>,
                                  std::size_t slot) const override
    {
        const Tensor& operand = operands[slot];
        if (!tensor::isFloating(operand.dtype())) {
            return Tensor::zeros(operand.dtype(), operand.shape());
        }
        const TensorType& type = m_outputTypes[0];
        const NumberRows rows = slot == 0 ? binaryFloats<PowerSlope>() : binaryFloats<ExponentSlope>();
        const Tensor slope = mapNumbers(rows, type.dtype, type.shape, {operands[0], operands[1]});
        return algebra::reduceTo(algebra::multiply(s[0], slope), operand.shape());
    }
};

BoundResult bindPow(const BindContext& context)
{
    const TensorType& x = firstType(context);
    const TensorType& c = context.operandTypes[1];
    if (x.dtype == DType::Bool || c.dtype == DType::Bool) {
        return context.error("operands must be numbers, not bool; insert a Cast");
    }
    RETRO_TRY(Shape shape, broadcastShape(context, x.shape, c.shape));
    if (context.constant(1) && !context.constant(0) && shape == x.shape) {
        return bound<PowerByConstant>(x, context.constants[1]);
    }
    return bound<PowerOfOperands>(TensorType{x.dtype, std::move(shape)});
}

/// x − y·⌊x/y⌋, or x − y·trunc(x/y) for fmod; by 0, which check() refuses: 0.
template <class T>
T integerRemainder(T x, T y, bool isFmod)
{
    if (y == 0 || (std::is_signed_v<T> && y == static_cast<T>(-1))) { // the smallest number by −1 would overflow
        return 0;
    }
    const T rest = static_cast<T>(x % y);
    const bool moves = !isFmod && rest != 0 && (rest < 0) != (y < 0);
    return moves ? static_cast<T>(rest + y) : rest;
}

/// The remainder with the sign of the divisor, or of the dividend when a is not 0 (fmod).
struct Remainder
{
    template <class T>
    static T value(T x, T y, RowParameters parameters)
    {
        if constexpr (std::is_floating_point_v<T>) {
            return std::fmod(x, y);
        } else {
            return integerRemainder(x, y, parameters.a != 0);
        }
    }
};

/// −s·trunc(x/y): what the divisor of fmod gets.
struct DivisorSlope
{
    static auto value(auto s, auto x, auto y, RowParameters) { return -s * std::trunc(x / y); }
};

class Modulo final : public Operator<Differentiable>
{
public:
    Modulo(TensorType output, bool isFmod, std::array<Shape, 2> operands)
        : Operator(std::move(output)), m_isFmod(isFmod), m_operands(std::move(operands))
    {}

    [[nodiscard]] base::Result<void> check(std::span<const Tensor> operands) const override
    {
        return expectNoZeroDivisor(operands[1]);
    }
    [[nodiscard]] std::vector<Tensor> forward(std::span<const Tensor> operands) const override
    {
        const TensorType& type = m_outputTypes[0];
        return {mapNumbers(binaryNumbers<Remainder>(), type.dtype, type.shape, operands.first(2),
                           {m_isFmod ? 1.0 : 0.0, 0})};
    }
    [[nodiscard]] Reads savedForGradient() const override { return Reads::allOperands(); }
    [[nodiscard]] Tensor pullback(std::span<const Tensor> s, std::span<const Tensor> operands, std::span<const Tensor>,
                                  std::size_t slot) const override
    {
        const TensorType& type = m_outputTypes[0];
        const Tensor part = slot == 0 ? s[0]
                                      : mapNumbers(ternaryFloats<DivisorSlope>(), type.dtype, type.shape,
                                                   {s[0], operands[0], operands[1]});
        return algebra::reduceTo(part, m_operands[slot]);
    }

private:
    bool m_isFmod;
    std::array<Shape, 2> m_operands;
};

BoundResult bindMod(const BindContext& context)
{
    RETRO_CHECK(expect(context, OperandTypes::AllNumbers));
    const bool isFmod = context.intAttribute("fmod", 0) != 0;
    const TensorType& x = firstType(context);
    if (tensor::isFloating(x.dtype) && !isFmod) {
        return context.error("floating operands need fmod = 1; the standard defines the other remainder for integers "
                             "only");
    }
    RETRO_TRY(Shape shape, broadcastShape(context, x.shape, context.operandTypes[1].shape));
    return bound<Modulo>(TensorType{x.dtype, std::move(shape)}, isFmod,
                         std::array{x.shape, context.operandTypes[1].shape});
}

} // namespace

const OperatorFamily kPowerOperators{
    {"", "Mod", 10, 0, "function", true, bindMod, false, Elements::Combined},
    {"", "Pow", 1, 6, "element-wise, function", true, bindOld<bindPow>, false, Elements::Combined},
    {"", "Pow", 7, 0, "element-wise, function", true, bindPow, false, Elements::Combined},
};

} // namespace retro::ops
