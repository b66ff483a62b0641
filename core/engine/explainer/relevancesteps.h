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
class RelevanceSteps
{
public:
    /// `floatType` is that of every number that is added.
    RelevanceSteps(graph::GraphBuilder& builder, std::int64_t opset, tensor::DType floatType)
        : m_emit(builder, opset, floatType, "rg.")
    {}

    [[nodiscard]] tape::Emitter& emitter() { return m_emit; }
    /// Of every number that is added.
    [[nodiscard]] tensor::DType floatType() const { return m_emit.floatType(); }

    /// A node with one result.
    ValueId op(std::string_view name, std::vector<ValueId> inputs, graph::Attributes attributes = {})
    {
        return m_emit.node(name, std::move(inputs), std::move(attributes));
    }
    /// A number of rank 0.
    ValueId scalar(double value) { return m_emit.scalar(value); }
    /// A list of whole numbers.
    ValueId ints(const std::vector<std::int64_t>& values) { return m_emit.ints(values); }
    /// A whole number of rank 0.
    ValueId integer(std::int64_t value)
    {
        return m_emit.constant(tensor::Tensor::full(tensor::DType::Int64, {}, static_cast<double>(value)));
    }
    /// A tensor in the float type.
    ValueId constant(const tensor::Tensor& value) { return m_emit.constant(value.to(m_emit.floatType())); }

    /// a + b, broadcast.
    ValueId add(ValueId a, ValueId b) { return op("Add", {a, b}); }
    /// a − b, broadcast.
    ValueId subtract(ValueId a, ValueId b) { return op("Sub", {a, b}); }
    /// a · b, broadcast.
    ValueId multiply(ValueId a, ValueId b) { return op("Mul", {a, b}); }
    /// `value` itself where the factor is 1.
    ValueId scaled(ValueId value, double factor);
    ValueId positivePart(ValueId value) { return op("Relu", {value}); }
    ValueId negativePart(ValueId value) { return op("Min", {value, scalar(0)}); }
    ValueId where(ValueId condition, ValueId yes, ValueId no) { return op("Where", {condition, yes, no}); }
    ValueId isPositive(ValueId value) { return op("Greater", {value, scalar(0)}); }
    ValueId isNegative(ValueId value) { return op("Less", {value, scalar(0)}); }
    /// As float numbers.
    ValueId asFloat(ValueId value);
    /// A result of this type, whose value is another one rounded to it.
    void roundInto(ValueId value, tensor::DType type, ValueId result);
    ValueId shapeOf(ValueId value) { return op("Shape", {value}); }
    /// The elements of `value` in the shape of another value.
    ValueId reshapeLike(ValueId value, ValueId like) { return op("Reshape", {value, shapeOf(like)}); }
    ValueId expandLike(ValueId value, ValueId like) { return op("Expand", {value, shapeOf(like)}); }
    /// One number in the shape of another value.
    ValueId filledLike(ValueId like, double value) { return m_emit.filledLike(like, value); }
    /// One number in a shape that a value holds.
    ValueId filled(ValueId shape, double value) { return m_emit.filledBy(shape, value); }
    ValueId sumOver(ValueId value, const std::vector<std::int64_t>& axes, bool keepsAxes = true);
    ValueId swapLast(ValueId value, std::size_t rank) { return m_emit.swapLast(value, rank); }
    /// Undoes a broadcast from `from`, the shape of `value`, to `to`.
    ValueId sumTo(ValueId value, const tensor::Shape& from, const tensor::Shape& to)
    {
        return m_emit.sumTo(value, from, to);
    }
    /// The first sample alone.
    ValueId firstSample(ValueId value);

    /// a / b, 0 where b is 0.
    ValueId guardedQuotient(ValueId a, ValueId b);
    /// s = R / stab(D). `rank` of D; `isNotNegative`: D is known to be nowhere below 0.
    ValueId quotient(ValueId relevance, ValueId denominator, const ops::algebra::Stabiliser& stabiliser,
                     std::size_t rank, bool isNotNegative = false);

private:
    tape::Emitter m_emit;
};

} // namespace retro::engine
