// SPDX-License-Identifier: Apache-2.0
#include "core/tape/gradientgraph/emitter.h"

#include <fmt/format.h>

#include <numeric>

namespace retro::tape
{

using tensor::Shape;
using tensor::Tensor;

std::string Emitter::nextName()
{
    std::string name;
    do {
        name = fmt::format("{}{}", m_prefix, m_count++);
    } while (m_builder.find(name));
    return name;
}

ValueId Emitter::node(std::string_view op, std::vector<ValueId> inputs, graph::Attributes attributes)
{
    return node(op, std::move(inputs), std::move(attributes), 1).front();
}

std::vector<ValueId> Emitter::node(std::string_view op, std::vector<ValueId> inputs, graph::Attributes attributes,
                                   std::size_t outputs)
{
    graph::Node made;
    made.op = std::string(op);
    made.name = nextName();
    made.opset = m_opset;
    made.metadata = m_metadata;
    made.inputs = std::move(inputs);
    made.attributes = std::move(attributes);
    for (std::size_t i = 0; i < outputs; ++i) {
        made.outputs.push_back(m_builder.addResult(nextName()));
    }
    const std::vector<ValueId> results = made.outputs;
    m_builder.addNode(std::move(made));
    return results;
}

void Emitter::named(std::string_view op, std::vector<ValueId> inputs, ValueId output, graph::Attributes attributes)
{
    graph::Node made;
    made.op = std::string(op);
    made.name = nextName();
    made.opset = m_opset;
    made.metadata = m_metadata;
    made.inputs = std::move(inputs);
    made.outputs = {output};
    made.attributes = std::move(attributes);
    m_builder.addNode(std::move(made));
}

ValueId Emitter::ints(const std::vector<std::int64_t>& values)
{
    return m_builder.addConstant(nextName(),
                                 Tensor::of<std::int64_t>({static_cast<std::int64_t>(values.size())}, values));
}

ValueId Emitter::constant(Tensor value) { return m_builder.addConstant(nextName(), std::move(value)); }

ValueId Emitter::scalar(double value) { return filled({}, value); }

ValueId Emitter::filled(const Shape& shape, double value)
{
    return m_builder.addConstant(nextName(), Tensor::full(m_floatType, shape, value));
}

ValueId Emitter::filledBy(ValueId shape, double value)
{
    return node("ConstantOfShape", {shape}, {{"value", Tensor::full(m_floatType, {1}, value)}});
}

ValueId Emitter::reshape(ValueId value, const Shape& shape) { return node("Reshape", {value, ints(shape)}); }

ValueId Emitter::reduce(std::string_view op, ValueId value, const std::vector<std::int64_t>& axes)
{
    const std::int64_t axesAreOperand = op == "ReduceSum" ? 13 : 18;
    if (m_opset >= axesAreOperand) {
        return node(op, {value, ints(axes)}, {{"keepdims", std::int64_t{1}}});
    }
    return node(op, {value}, {{"keepdims", std::int64_t{1}}, {"axes", axes}});
}

ValueId Emitter::sumTo(ValueId value, const Shape& from, const Shape& to)
{
    const std::size_t more = from.size() - to.size();
    std::vector<std::int64_t> axes;
    for (std::size_t axis = 0; axis < from.size(); ++axis) {
        if (axis < more || (to[axis - more] == 1 && from[axis] != 1)) {
            axes.push_back(static_cast<std::int64_t>(axis));
        }
    }
    const ValueId sum = axes.empty() ? value : reduce("ReduceSum", value, axes);
    std::vector<std::int64_t> leading(more);
    std::iota(leading.begin(), leading.end(), 0);
    if (leading.empty()) {
        return sum;
    }
    return m_opset < 13 ? node("Squeeze", {sum}, {{"axes", leading}}) : node("Squeeze", {sum, ints(leading)});
}

ValueId Emitter::alongAxis(ValueId value, const Shape& shape, std::size_t axis, const std::vector<double>& matrix,
                           std::int64_t rows)
{
    const auto at = shape.begin() + static_cast<std::ptrdiff_t>(axis);
    const Shape folded{tensor::elementCount({shape.begin(), at}), *at, tensor::elementCount({at + 1, shape.end()})};
    const ValueId factors = constant(Tensor::of<double>({rows, *at}, matrix).to(m_floatType));
    Shape made = shape;
    made[axis] = rows;
    return reshape(node("MatMul", {factors, reshape(value, folded)}), made);
}

ValueId Emitter::slice(ValueId value, const std::vector<std::int64_t>& starts, const std::vector<std::int64_t>& ends,
                       const std::vector<std::int64_t>& axes, const std::vector<std::int64_t>& steps)
{
    if (m_opset < 10) {
        return node("Slice", {value}, {{"starts", starts}, {"ends", ends}, {"axes", axes}});
    }
    std::vector<ValueId> inputs{value, ints(starts), ints(ends), ints(axes)};
    if (!steps.empty()) {
        inputs.push_back(ints(steps));
    }
    return node("Slice", std::move(inputs));
}

ValueId Emitter::pad(ValueId value, std::vector<std::int64_t> before, const std::vector<std::int64_t>& after)
{
    before.insert(before.end(), after.begin(), after.end());
    return m_opset < 11 ? node("Pad", {value}, {{"pads", before}}) : node("Pad", {value, ints(before)});
}

ValueId Emitter::scatter(ValueId data, ValueId places, ValueId updates, std::int64_t axis)
{
    return node(m_opset < 11 ? "Scatter" : "ScatterElements", {data, places, updates}, {{"axis", axis}});
}

ValueId Emitter::swapLast(ValueId value, std::size_t rank)
{
    std::vector<std::int64_t> order(rank);
    std::iota(order.begin(), order.end(), 0);
    std::swap(order[rank - 2], order[rank - 1]);
    return node("Transpose", {value}, {{"perm", order}});
}

} // namespace retro::tape
