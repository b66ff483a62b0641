// SPDX-License-Identifier: Apache-2.0
#include "core/ops/bind/bindcheck.h"
#include "core/ops/families.h"
#include "core/ops/logic/rowoperator.h"

#include <array>

namespace retro::ops
{

namespace
{

using tensor::DType;

struct Equals
{
    template <class T>
    static bool value(T x, T y, RowParameters)
    {
        return x == y;
    }
};

struct IsLess
{
    template <class T>
    static bool value(T x, T y, RowParameters)
    {
        return x < y;
    }
};

struct IsLessOrEqual
{
    template <class T>
    static bool value(T x, T y, RowParameters)
    {
        return x <= y;
    }
};

struct IsGreater
{
    template <class T>
    static bool value(T x, T y, RowParameters)
    {
        return x > y;
    }
};

struct IsGreaterOrEqual
{
    template <class T>
    static bool value(T x, T y, RowParameters)
    {
        return x >= y;
    }
};

/// Both operands broadcast to the result, which is bool. Operands of `types`.
BoundResult boundComparison(const BindContext& context, OperandTypes types, const NumberRows& rows)
{
    RETRO_CHECK(expect(context, types));
    RETRO_TRY(tensor::Shape shape,
              broadcastShape(context, context.operandTypes[0].shape, context.operandTypes[1].shape));
    return bound<RowOperator>(TensorType{DType::Bool, std::move(shape)}, rows);
}

BoundResult bindEqual(const BindContext& context)
{
    return boundComparison(context, OperandTypes::Alike, comparisonRows<Equals>());
}

template <class F>
BoundResult bindOrder(const BindContext& context)
{
    return boundComparison(context, OperandTypes::AllNumbers, comparisonRows<F>());
}

} // namespace

std::span<const OperatorDeclaration> comparisonDeclarations()
{
    // Before opset 7 these had a broadcasting of their own.
    static constexpr std::array kDeclarations{
        OperatorDeclaration{"", "Equal", 7, 0, "no relevance", false, bindEqual},
        OperatorDeclaration{"", "Greater", 7, 0, "no relevance", false, bindOrder<IsGreater>},
        OperatorDeclaration{"", "GreaterOrEqual", 12, 0, "no relevance", false, bindOrder<IsGreaterOrEqual>},
        OperatorDeclaration{"", "Less", 7, 0, "no relevance", false, bindOrder<IsLess>},
        OperatorDeclaration{"", "LessOrEqual", 12, 0, "no relevance", false, bindOrder<IsLessOrEqual>},
    };
    return kDeclarations;
}

} // namespace retro::ops
