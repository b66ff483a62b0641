// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/graph/graphbuilder.h"
#include "core/ops/algebra.h"
#include "core/tape/gradientgraph/emitter.h"

#include <cstdint>
#include <string_view>
#include <vector>

namespace retro::engine
{

using graph::ValueId;

/// Nodes of the ONNX standard that relevance rules are made of. Shapes are taken from forward values while the graph
/// runs, so that free axes stay free. Names that are made up begin with "rg.".
class RelevanceSteps : public tape::Emitter
{
public:
    /// `floatType` is that of every number that is added.
    RelevanceSteps(graph::GraphBuilder& builder, std::int64_t opset, tensor::DType floatType)
        : Emitter(builder, opset, floatType, "rg.")
    {}

    /// A whole number of rank 0.
    ValueId integer(std::int64_t value)
    {
        return constant(tensor::Tensor::full(tensor::DType::Int64, {}, static_cast<double>(value)));
    }
    /// A tensor in the float type.
    ValueId floats(const tensor::Tensor& value) { return constant(value.to(floatType())); }

    /// a + b, broadcast.
    ValueId add(ValueId a, ValueId b) { return node("Add", {a, b}); }
    /// a − b, broadcast.
    ValueId subtract(ValueId a, ValueId b) { return node("Sub", {a, b}); }
    /// a · b, broadcast.
    ValueId multiply(ValueId a, ValueId b) { return node("Mul", {a, b}); }
    /// `value` itself where the factor is 1.
    ValueId scaled(ValueId value, double factor);
    ValueId positivePart(ValueId value) { return node("Relu", {value}); }
    ValueId negativePart(ValueId value) { return node("Min", {value, scalar(0)}); }
    ValueId where(ValueId condition, ValueId yes, ValueId no) { return node("Where", {condition, yes, no}); }
    ValueId isPositive(ValueId value) { return node("Greater", {value, scalar(0)}); }
    ValueId isNegative(ValueId value) { return node("Less", {value, scalar(0)}); }
    /// As float numbers.
    ValueId asFloat(ValueId value);
    /// A result of this type, whose value is another one rounded to it.
    void roundInto(ValueId value, tensor::DType type, ValueId result);
    ValueId shapeOf(ValueId value) { return node("Shape", {value}); }
    /// The elements of `value` in the shape of another value.
    ValueId reshapeLike(ValueId value, ValueId like) { return node("Reshape", {value, shapeOf(like)}); }
    ValueId expandLike(ValueId value, ValueId like) { return node("Expand", {value, shapeOf(like)}); }
    ValueId sumOver(ValueId value, const std::vector<std::int64_t>& axes, bool keepsAxes = true);
    /// The first sample alone.
    ValueId firstSample(ValueId value);

    /// a / b, 0 where b is 0.
    ValueId guardedQuotient(ValueId a, ValueId b);
    /// s = R / stab(D). `rank` of D; `isNotNegative`: D is known to be nowhere below 0.
    ValueId quotient(ValueId relevance, ValueId denominator, const ops::algebra::Stabiliser& stabiliser,
                     std::size_t rank, bool isNotNegative = false);
};

} // namespace retro::engine
