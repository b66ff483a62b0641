// SPDX-License-Identifier: Apache-2.0
#include "core/ops/bind/bindcheck.h"
#include "core/ops/families.h"
#include "core/ops/logic/rowoperator.h"

namespace retro::ops
{

namespace
{

using tensor::DType;

struct Equals
{
    static bool value(auto x, auto y, RowParameters) { return x == y; }
};

struct IsLess
{
    static bool value(auto x, auto y, RowParameters) { return x < y; }
};

struct IsLessOrEqual
{
    static bool value(auto x, auto y, RowParameters) { return x <= y; }
};

struct IsGreater
{
    static bool value(auto x, auto y, RowParameters) { return x > y; }
};

struct IsGreaterOrEqual
{
    static bool value(auto x, auto y, RowParameters) { return x >= y; }
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

// Before opset 7 these had a broadcasting of their own.
const OperatorFamily kComparisonOperators{
    {"", "Equal", 7, 0, "no relevance", false, bindEqual, false, Elements::Compared},
    {"", "Greater", 7, 0, "no relevance", false, bindOrder<IsGreater>, false, Elements::Compared},
    {"", "GreaterOrEqual", 12, 0, "no relevance", false, bindOrder<IsGreaterOrEqual>, false, Elements::Compared},
    {"", "Less", 7, 0, "no relevance", false, bindOrder<IsLess>, false, Elements::Compared},
    {"", "LessOrEqual", 12, 0, "no relevance", false, bindOrder<IsLessOrEqual>, false, Elements::Compared},
};

} // namespace retro::ops
