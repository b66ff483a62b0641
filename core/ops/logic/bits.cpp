// SPDX-License-Identifier: Apache-2.0
// Logic on bool, and the same bit by bit on integers.
#include "core/ops/bind/bindcheck.h"
#include "core/ops/families.h"
#include "core/ops/logic/rowoperator.h"

namespace retro::ops
{

namespace
{

struct BitAnd
{
    static auto value(auto x, auto y, RowParameters) { return x & y; }
};

struct BitOr
{
    static auto value(auto x, auto y, RowParameters) { return x | y; }
};

struct BitXor
{
    static auto value(auto x, auto y, RowParameters) { return x ^ y; }
};

struct BitNot
{
    static auto value(auto x, RowParameters) { return ~x; }
};

/// bool computes in int64: bits 0 and 1, the result written as bool.
struct IsZero
{
    static bool value(std::int64_t x, RowParameters) { return x == 0; }
};

/// x · 2^y, or ⌊x / 2^y⌋ when a is 1; 0 once all bits are out. Computed in 64 bits, so that narrower types lose theirs.
struct Shift
{
    template <class T>
    static T value(T x, T y, RowParameters parameters)
    {
        const auto bits = static_cast<std::uint64_t>(x);
        const auto count = static_cast<std::uint64_t>(y);
        if (count >= 64) {
            return 0;
        }
        return static_cast<T>(parameters.a != 0 ? bits >> count : bits << count);
    }
};

template <class F>
constexpr NumberRows booleanRows()
{
    return {nullptr, nullptr, binaryRow<F, std::int64_t, bool>, nullptr};
}

BoundResult boundBitPair(const BindContext& context, OperandTypes types, const NumberRows& rows,
                         RowParameters parameters = {})
{
    RETRO_CHECK(expect(context, types));
    RETRO_TRY(tensor::Shape shape,
              broadcastShape(context, context.operandTypes[0].shape, context.operandTypes[1].shape));
    return bound<RowOperator>(TensorType{firstType(context).dtype, std::move(shape)}, rows, parameters);
}

template <class F>
BoundResult bindLogic(const BindContext& context)
{
    return boundBitPair(context, OperandTypes::Booleans, booleanRows<F>());
}

template <class F>
BoundResult bindBitwise(const BindContext& context)
{
    return boundBitPair(context, OperandTypes::Integers, binaryIntegers<F>());
}

BoundResult bindNot(const BindContext& context)
{
    RETRO_CHECK(expect(context, OperandTypes::Booleans));
    return bound<RowOperator>(firstType(context),
                              NumberRows{nullptr, nullptr, unaryRow<IsZero, std::int64_t, bool>, nullptr});
}

BoundResult bindBitwiseNot(const BindContext& context)
{
    RETRO_CHECK(expect(context, OperandTypes::Integers));
    return bound<RowOperator>(firstType(context), NumberRows{nullptr, nullptr, unaryRow<BitNot, std::int64_t>,
                                                             unaryRow<BitNot, std::uint64_t>});
}

BoundResult bindBitShift(const BindContext& context)
{
    const std::string direction = context.textAttribute("direction", {});
    if (direction != "LEFT" && direction != "RIGHT") {
        return context.error("direction is '" + direction + "', but must be 'LEFT' or 'RIGHT'");
    }
    return boundBitPair(context, OperandTypes::Integers, binaryIntegers<Shift>(),
                        {direction == "RIGHT" ? 1.0 : 0.0, 0});
}

} // namespace

const OperatorFamily kBitOperators{
    {"", "And", 7, 0, "no relevance", false, bindLogic<BitAnd>, false, Elements::Compared},
    {"", "BitShift", 11, 0, "no relevance", false, bindBitShift, false, Elements::Combined},
    {"", "BitwiseAnd", 18, 0, "no relevance", false, bindBitwise<BitAnd>, false, Elements::Combined},
    {"", "BitwiseNot", 18, 0, "no relevance", false, bindBitwiseNot, false, Elements::Function},
    {"", "BitwiseOr", 18, 0, "no relevance", false, bindBitwise<BitOr>, false, Elements::Combined},
    {"", "BitwiseXor", 18, 0, "no relevance", false, bindBitwise<BitXor>, false, Elements::Combined},
    {"", "Not", 1, 0, "no relevance", false, bindNot, false, Elements::Compared},
    {"", "Or", 7, 0, "no relevance", false, bindLogic<BitOr>, false, Elements::Compared},
    {"", "Xor", 7, 0, "no relevance", false, bindLogic<BitXor>, false, Elements::Compared},
};

} // namespace retro::ops
