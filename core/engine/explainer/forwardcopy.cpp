// SPDX-License-Identifier: Apache-2.0
#include "core/engine/explainer/forwardcopy.h"

#include "core/engine/explainer/standardforward.h"

#include <algorithm>
#include <array>
#include <optional>
#include <string_view>
#include <utility>

namespace retro::engine
{

using base::Result;

namespace
{

/// Element type of a Cast to float64, by its number in ONNX.
constexpr std::int64_t kOnnxDouble = 11;

/// They move elements: nothing is rounded, and runtimes have them for every type.
constexpr std::array<std::string_view, 10> kMoves{"Reshape", "Flatten", "Squeeze", "Unsqueeze", "Transpose",
                                                  "Concat",  "Slice",   "Split",   "Gather",    "Identity"};

bool changesType(const graph::Node& node)
{
    return node.domain.empty() && (node.op == "Cast" || node.op == "CastLike");
}

} // namespace

tensor::DType ForwardCopy::typeOf(graph::ValueId value) const
{
    const graph::Value& own = m_model.graph().value(value);
    const bool isStored = own.kind == graph::ValueKind::Constant && own.constant.isValid();
    const tensor::DType type = isStored ? own.constant.dtype() : m_model.numbersOf(value);
    const tensor::DType wide = m_steps.floatType();
    if (!tensor::isFloating(type)) {
        return isStored ? type : m_model.typeOf(value).dtype;
    }
    // Constants that were computed hold more digits than their value has in the model; they keep those of the run.
    const bool isWider = type == tensor::DType::Float64 && wide == tensor::DType::Float32;
    const bool isComputed = isStored && own.dtype != type;
    return m_model.precision() == execute::Precision::Double || isWider || isComputed ? wide : type;
}

ValueId ForwardCopy::forRelevance(graph::ValueId value)
{
    const tensor::DType type = typeOf(value);
    if (!tensor::isFloating(type) || type == m_steps.floatType()) {
        return own(value);
    }
    ValueId& wide = m_wide[value.index()];
    if (!wide.isValid()) {
        wide = m_steps.asFloat(own(value));
    }
    return wide;
}

Result<void> ForwardCopy::write()
{
    const graph::Graph& graph = m_model.graph();
    for (const graph::ValueId input : graph.inputs()) {
        const graph::Value& value = graph.value(input);
        const ValueId given = m_builder.addInput(value.name, value.dtype, value.shape);
        const bool isOther = tensor::isFloating(value.dtype) && value.dtype != typeOf(input);
        m_copy[input.index()] = isOther ? m_steps.asFloat(given) : given;
    }
    for (std::size_t i = 0; i < graph.valueCount(); ++i) {
        const graph::ValueId id(i);
        const graph::Value& value = graph.value(id);
        if (value.kind == graph::ValueKind::Constant) {
            const bool isFloat = tensor::isFloating(value.constant.dtype());
            m_copy[i] = m_builder.addConstant(value.name, isFloat ? value.constant.to(typeOf(id)) : value.constant);
        } else if (value.kind == graph::ValueKind::Result) {
            m_copy[i] = m_builder.addResult(value.name);
            m_builder.declare(m_copy[i], typeOf(id), m_dimensions(id));
        }
    }
    for (const graph::Node& node : graph.nodes()) {
        RETRO_CHECK(addNode(node));
    }
    for (const graph::ValueId output : graph.outputs()) {
        m_builder.addOutput(own(output));
    }
    return {};
}

bool ForwardCopy::isInOneType(const graph::Node& node) const
{
    std::optional<tensor::DType> one;
    for (const std::vector<graph::ValueId>* values : {&node.inputs, &node.outputs}) {
        for (const graph::ValueId value : *values) {
            if (!value.isValid() || !tensor::isFloating(typeOf(value))) {
                continue;
            }
            if (one && *one != typeOf(value)) {
                return false;
            }
            one = typeOf(value);
        }
    }
    // Of a narrow type the graph states where it rounds: behind each operator, once. Runtimes without an operator in
    // that type compute several in float32 before they round, or refuse it.
    const bool isMove = node.domain.empty() && std::ranges::find(kMoves, node.op) != kMoves.end() &&
                        node.opset <= m_steps.emitter().opset();
    return !one || *one == m_steps.floatType() || isMove;
}

Result<void> ForwardCopy::addNode(const graph::Node& node)
{
    const bool isDouble = m_model.precision() == execute::Precision::Double;
    if (isInOneType(node) || changesType(node)) {
        const tensor::DType wide = m_steps.floatType();
        if (!node.outputs.empty() && tensor::isFloating(typeOf(node.outputs.front()))) {
            m_steps.emitter().setFloatType(typeOf(node.outputs.front())); // of the numbers that become operands
        }
        graph::Node made = node;
        if (isDouble && node.op == "Cast" && tensor::isFloating(typeOf(node.outputs.front()))) {
            made.attributes["to"] = kOnnxDouble;
        }
        const Result<void> added =
            addStandardNode(m_builder, m_steps, m_model, made, [this](graph::ValueId value) { return own(value); });
        m_steps.emitter().setFloatType(wide);
        return added;
    }
    // As the engine computes it: in the wide type, then rounded.
    std::vector<std::pair<graph::ValueId, ValueId>> rounded;
    RETRO_CHECK(addStandardNode(m_builder, m_steps, m_model, node, [&](graph::ValueId value) {
        if (m_model.graph().value(value).kind != graph::ValueKind::Result ||
            std::ranges::find(node.outputs, value) == node.outputs.end()) {
            return forRelevance(value);
        }
        if (!tensor::isFloating(typeOf(value)) || typeOf(value) == m_steps.floatType()) {
            return own(value);
        }
        const ValueId result = m_builder.addResult(m_steps.emitter().nextName());
        m_builder.declare(result, m_steps.floatType(), m_dimensions(value));
        rounded.emplace_back(value, result);
        return result;
    }));
    for (const auto& [value, result] : rounded) {
        m_steps.roundInto(result, typeOf(value), own(value));
    }
    return {};
}

} // namespace retro::engine
