// SPDX-License-Identifier: Apache-2.0
// Functions that are constant almost everywhere, and tests for special numbers: their derivative says nothing, so they
// carry no relevance.
#include "core/ops/bind/bindcheck.h"
#include "core/ops/families.h"
#include "core/ops/logic/rowoperator.h"

#include <cmath>

namespace retro::ops
{

namespace
{

struct Ceil
{
    static auto value(auto x, RowParameters) { return std::ceil(x); }
};

struct Floor
{
    static auto value(auto x, RowParameters) { return std::floor(x); }
};

/// To the nearest integer, halves to the even one.
struct Round
{
    static auto value(auto x, RowParameters) { return std::nearbyint(x); }
};

/// −1, 0 or 1; NaN stays NaN.
struct Sign
{
    template <class T>
    static T value(T x, RowParameters)
    {
        if constexpr (std::is_floating_point_v<T>) {
            return x > T{0} ? T{1} : x < T{0} ? T{-1} : x;
        } else {
            return static_cast<T>(static_cast<int>(x > T{0}) - static_cast<int>(x < T{0}));
        }
    }
};

struct IsNan
{
    static bool value(auto x, RowParameters) { return std::isnan(x); }
};

/// Infinite: above when a is not 0, below when b is not 0.
struct IsInfinite
{
    template <class T>
    static bool value(T x, RowParameters parameters)
    {
        return std::isinf(x) && (x > T{0} ? parameters.a : parameters.b) != 0;
    }
};

template <class F>
constexpr NumberRows testRows()
{
    return {unaryRow<F, float, bool>, unaryRow<F, double, bool>, nullptr, nullptr};
}

template <class F>
BoundResult bindRounding(const BindContext& context)
{
    RETRO_CHECK(expect(context, OperandTypes::Floats));
    return bound<RowOperator>(firstType(context), unaryFloats<F>());
}

BoundResult bindSign(const BindContext& context)
{
    RETRO_CHECK(expect(context, OperandTypes::AllNumbers));
    return bound<RowOperator>(firstType(context), unaryNumbers<Sign>());
}

BoundResult bindIsNan(const BindContext& context)
{
    RETRO_CHECK(expect(context, OperandTypes::Floats));
    return bound<RowOperator>(TensorType{tensor::DType::Bool, firstType(context).shape}, testRows<IsNan>());
}

BoundResult bindIsInf(const BindContext& context)
{
    RETRO_CHECK(expect(context, OperandTypes::Floats));
    const RowParameters parameters{static_cast<double>(context.intAttribute("detect_positive", 1)),
                                   static_cast<double>(context.intAttribute("detect_negative", 1))};
    return bound<RowOperator>(TensorType{tensor::DType::Bool, firstType(context).shape}, testRows<IsInfinite>(),
                              parameters);
}

} // namespace

const OperatorFamily kRoundingOperators{
    {"", "Ceil", 1, 0, "no relevance", false, bindRounding<Ceil>, false, Elements::Rounded},
    {"", "Floor", 1, 0, "no relevance", false, bindRounding<Floor>, false, Elements::Rounded},
    {"", "IsInf", 10, 0, "no relevance", false, bindIsInf, false, Elements::Compared},
    {"", "IsNaN", 9, 0, "no relevance", false, bindIsNan, false, Elements::Compared},
    {"", "Round", 11, 0, "no relevance", false, bindRounding<Round>, false, Elements::Rounded},
    {"", "Sign", 9, 0, "no relevance", false, bindSign, false, Elements::Function},
};

} // namespace retro::ops
