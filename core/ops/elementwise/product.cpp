// SPDX-License-Identifier: Apache-2.0
#include "core/ops/bind/bindcheck.h"
#include "core/ops/bind/oldbroadcast.h"
#include "core/ops/bind/operatorbase.h"
#include "core/ops/elementwise/zerodivisor.h"
#include "core/ops/families.h"
#include "core/ops/kernel/mapover.h"
#include "core/ops/kernel/rowloop.h"
#include "core/ops/kernel/visitnumber.h"

namespace retro::ops
{

namespace
{

using tensor::Shape;

/// What a product reads: with exactly one constant operand only that one, so that a traversal passes through it.
Reads readsOf(const BindContext& context)
{
    const Reads both{Reads::bit(0) | Reads::bit(1), 0};
    if (context.constant(0) == context.constant(1)) {
        return both;
    }
    return {Reads::bit(context.constant(0) ? 0 : 1), 0};
}

struct IntegerProduct
{
    static auto value(auto x, auto y, RowParameters) { return times(x, y); }
};

// Closures and their like are inlined into a loop; a function's name would be called per element.
struct Times
{
    static constexpr bool kIsVectorised = true;

    auto operator()(auto x, auto y) const { return x * y; }
};

struct DividedBy
{
    static constexpr bool kIsVectorised = true;

    auto operator()(auto x, auto y) const { return x / y; }
};

/// A function of two operands, element by element: F of floating numbers, I of integers.
template <class S, class F, class I>
class OfPair : public Operator<S>
{
public:
    OfPair(TensorType output, Reads reads) : Operator<S>(std::move(output)), m_reads(reads) {}

    [[nodiscard]] std::vector<Tensor> forward(std::span<const Tensor> operands) const override
    {
        const TensorType& type = this->outputTypes()[0];
        if (!tensor::isFloating(type.dtype)) {
            return {mapNumbers(binaryIntegers<I>(), type.dtype, type.shape, operands.first(2))};
        }
        return visitFloat(type.dtype, [&](auto zero) -> std::vector<Tensor> {
            using T = decltype(zero);
            return {mapElements<T>(operands[0], operands[1], type.shape, F{})};
        });
    }
    [[nodiscard]] std::vector<Tensor> forwardOver(std::span<Tensor> operands) const override
    {
        const TensorType& type = this->outputTypes()[0];
        if (!tensor::isFloating(type.dtype)) {
            return forward(operands);
        }
        return {visitFloat(type.dtype, [&](auto zero) {
            return mapOverEither<decltype(zero)>(std::move(operands[0]), std::move(operands[1]), type.shape, F{});
        })};
    }
    [[nodiscard]] Reads savedForGradient() const override { return m_reads; }

private:
    Reads m_reads;
};

class Mul final : public OfPair<Product, Times, IntegerProduct>
{
public:
    using OfPair::OfPair;

    [[nodiscard]] Tensor forwardThrough(std::span<Tensor> operands, const RowsOver& rows) const override
    {
        return mapOverEither<float>(std::move(operands[0]), std::move(operands[1]), m_outputTypes[0].shape, Times{},
                                    &rows);
    }
};

/// Division towards zero that is defined for every pair: by 0, which check() refuses, it gives 0, the smallest integer
/// by −1 gives itself.
struct IntegerQuotient
{
    template <class T>
    static T value(T x, T y, RowParameters)
    {
        if (y == 0) {
            return 0;
        }
        if (std::is_signed_v<T> && y == static_cast<T>(-1)) {
            return minus(T{0}, x);
        }
        return static_cast<T>(x / y);
    }
};

class Div final : public OfPair<Quotient, DividedBy, IntegerQuotient>
{
public:
    using OfPair::OfPair;

    [[nodiscard]] base::Result<void> check(std::span<const Tensor> operands) const override
    {
        return expectNoZeroDivisor(operands[1]);
    }
};

template <class O>
BoundResult bindPair(const BindContext& context, Reads reads)
{
    RETRO_TRY(Shape shape, broadcastShape(context, context.operandTypes[0].shape, context.operandTypes[1].shape));
    return bound<O>(TensorType{firstType(context).dtype, std::move(shape)}, reads);
}

BoundResult bindMul(const BindContext& context)
{
    RETRO_CHECK(expect(context, OperandTypes::AllNumbers));
    return bindPair<Mul>(context, readsOf(context));
}

BoundResult bindDiv(const BindContext& context)
{
    RETRO_CHECK(expect(context, OperandTypes::AllNumbers));
    // A constant numerator is no pass-through: the quotient is not linear in its denominator.
    const bool isScaling = context.constant(1) && !context.constant(0);
    return bindPair<Div>(context, isScaling ? Reads{Reads::bit(1), 0} : Reads{Reads::bit(0) | Reads::bit(1), 0});
}

} // namespace

const OperatorFamily kProductOperators{
    {"", "Mul", 1, 6, "product", true, bindOld<bindMul>},
    {"", "Mul", 7, 0, "product", true, bindMul},
    {"", "Div", 1, 6, "quotient", true, bindOld<bindDiv>},
    {"", "Div", 7, 0, "quotient", true, bindDiv},
    // Signal (operand 0) times what lets it pass (operand 1), inside what is written out step by step.
    {"retrograde", "Gate", 1, 0, "product", true, bindMul, false, Elements::Combined},
};

} // namespace retro::ops
