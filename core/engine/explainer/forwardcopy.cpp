// SPDX-License-Identifier: Apache-2.0
#include "core/engine/explainer/forwardcopy.h"

#include "core/graph/attributes.h"
#include "core/ops/elements.h"
#include "core/ops/layerkind.h"
#include "core/ops/numbertypes.h"
#include "core/ops/registry.h"
#include "core/tape/gradientgraph/olderform.h"

#include <fmt/format.h>

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

using Extents = std::vector<std::int64_t>;

/// Operator sets in which attributes became operands.
constexpr std::int64_t kSliceOperands = 10;
constexpr std::int64_t kClipOperands = 11;
constexpr std::int64_t kAxesOperands = 13;

base::Error noStandardForm(const graph::Node& node, std::string_view reason)
{
    return base::inputError(fmt::format("this operator cannot be written into a relevance graph: {}", reason),
                            fmt::format("node '{}' ({})", node.name, node.op));
}

/// An attribute becomes the operand of this slot.
void attributeToOperand(graph::Node& node, RelevanceSteps& steps, std::string_view name, std::size_t slot)
{
    const auto at = node.attributes.find(name);
    if (at == node.attributes.end()) {
        return;
    }
    ValueId operand;
    if (const auto* list = std::get_if<Extents>(&at->second)) {
        operand = steps.ints(*list);
    } else if (const auto* whole = std::get_if<std::int64_t>(&at->second)) {
        operand = steps.ints({*whole});
    } else if (const auto* number = std::get_if<double>(&at->second)) {
        operand = steps.scalar(*number);
    } else {
        return;
    }
    if (node.inputs.size() <= slot) {
        node.inputs.resize(slot + 1);
    }
    node.inputs[slot] = operand;
    node.attributes.erase(at);
}

struct NewerForm
{
    std::string_view op;
    std::int64_t before;                        ///< nodes of older operator sets are changed
    std::array<std::string_view, 3> attributes; ///< become operands from slot 1 on
};

constexpr std::array kNewerForms{NewerForm{"Squeeze", kAxesOperands, {"axes"}},
                                 NewerForm{"Unsqueeze", kAxesOperands, {"axes"}},
                                 NewerForm{"ReduceSum", kAxesOperands, {"axes"}},
                                 NewerForm{"Split", kAxesOperands, {"split"}},
                                 NewerForm{"Clip", kClipOperands, {"min", "max"}},
                                 NewerForm{"Pad", kClipOperands, {"pads", "value"}},
                                 NewerForm{"Slice", kSliceOperands, {"starts", "ends", "axes"}},
                                 NewerForm{"TopK", kSliceOperands, {"k"}}};

/// Before, all axes from `axis` on were one; the last axis by itself means the same in both.
bool softmaxBecomesNewer(graph::Node& node, std::size_t rank)
{
    const auto last = static_cast<std::int64_t>(rank) - 1;
    const std::int64_t axis = graph::intAttribute(node, "axis", 1);
    if (axis != -1 && axis != last) {
        return false;
    }
    node.attributes["axis"] = std::int64_t{-1};
    return true;
}

/// GlobalAveragePool as one mean per axis, the last axis first. Runtimes add all places of a channel one after the
/// other, and float32 loses ten times as much in that as in short sums; all relevance behind it inherits the loss.
void addMeanPerAxis(RelevanceSteps& steps, ValueId value, std::size_t rank, ValueId output)
{
    for (std::size_t axis = rank - 1; axis > 1; --axis) {
        value = steps.reduce("ReduceMean", value, {static_cast<std::int64_t>(axis)});
    }
    steps.named("Identity", {value}, output);
}

/// Gives a node of an older operator set the attributes and operands of `opset`; false where it means something else
/// there. `rank` is that of its first operand.
bool takesNewerForm(graph::Node& node, RelevanceSteps& steps, std::size_t rank, std::int64_t opset)
{
    const bool isSoftmax = ops::isSoftmax(node);
    if (isSoftmax && node.opset < kAxesOperands) {
        return softmaxBecomesNewer(node, rank);
    }
    const auto form = std::ranges::find(kNewerForms, node.op, &NewerForm::op);
    if (form != kNewerForms.end() && node.opset < form->before) {
        for (std::size_t i = 0; i < form->attributes.size() && !form->attributes[i].empty(); ++i) {
            attributeToOperand(node, steps, form->attributes[i], i + 1);
        }
        return true;
    }
    const ops::OperatorDeclaration* own = ops::find(node.domain, node.op, node.opset);
    return own != nullptr && own == ops::find(node.domain, node.op, opset);
}

/// Makes a node of an older operator set one of `opset`; false where it means something else there. `rank` is that of
/// its first operand.
bool becomesNewer(graph::Node& node, RelevanceSteps& steps, std::size_t rank, std::int64_t opset)
{
    if (node.opset > opset) { // written in steps afterwards (withStandardNodes)
        return true;
    }
    if (!takesNewerForm(node, steps, rank, opset)) {
        return false;
    }
    if (ops::isBatchNormalisation(node)) {
        node.attributes.erase("spatial");
    }
    node.opset = opset;
    return true;
}

/// An operator of our own in steps. Errors (Input): one that has no such steps. `made` is the copy of `node` there.
base::Result<void> addOwnNode(RelevanceSteps& steps, const graph::Node& node, const graph::Node& made)
{
    if (ops::isLinearLayer(made) && made.inputs.size() == 3) {
        const ValueId product = steps.node("MatMul", {made.inputs[0], made.inputs[1]});
        steps.named("Add", {product, made.inputs[2]}, made.outputs[0]);
        return {};
    }
    if (made.op == "Gate") {
        steps.named("Mul", made.inputs, made.outputs[0]);
        return {};
    }
    if (made.op == "Gather") { // an index outside ends with an error there
        steps.named("Gather", made.inputs, made.outputs[0], made.attributes);
        return {};
    }
    if (ops::areElements(made, {ops::Elements::Kept})) {
        steps.named("Identity", {made.inputs[0]}, made.outputs[0]);
        return {};
    }
    return noStandardForm(node, "it is an operator of our own (a quantised layer, a fused one); export the float "
                                "model, or leave the optional rewrites out");
}

/// Adds a node of a rewritten model to a graph of one operator set, as nodes of the standard: operators of our own in
/// steps, older forms in the newer one. `copy` gives the value there of one of the model. Errors (Input): an operator
/// that the standard has not, or that means something else in the operator set.
base::Result<void> addStandardNode(graph::GraphBuilder& builder, RelevanceSteps& steps,
                                   const execute::BoundModel& model, const graph::Node& node,
                                   const std::function<ValueId(graph::ValueId)>& copy)
{
    graph::Node made = node;
    made.metadata.erase("retrograde.overwrites");
    const auto copied = [&](std::vector<ValueId>& values) {
        std::ranges::transform(values, values.begin(),
                               [&](ValueId value) { return value.isValid() ? copy(value) : value; });
    };
    copied(made.inputs);
    copied(made.outputs);
    const std::int64_t opset = steps.opset();
    if (made.domain == "retrograde" || made.domain == "ai.retrograde") {
        return addOwnNode(steps, node, made);
    }
    if (!made.domain.empty()) {
        return noStandardForm(node, fmt::format("the domain {} is not the standard's", made.domain));
    }
    tape::settleOpset(made, opset, model);
    const std::size_t rank =
        node.inputs.empty() || !node.inputs[0].isValid() ? 0 : model.typeOf(node.inputs[0]).shape.size();
    const bool isSingle = rank > 2 && steps.floatType() == tensor::DType::Float32 &&
                          model.numbersOf(node.inputs[0]) == tensor::DType::Float32;
    if (made.op == "GlobalAveragePool" && isSingle) {
        addMeanPerAxis(steps, made.inputs[0], rank, made.outputs[0]);
        return {};
    }
    if (made.opset != opset && !becomesNewer(made, steps, rank, opset)) {
        return noStandardForm(node, fmt::format("it is of operator set {} and means something else in {}; convert the "
                                                "model to operator set {}",
                                                node.opset, opset, opset));
    }
    builder.addNode(std::move(made));
    return {};
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
        const ValueId given =
            m_builder.addInput(value.name, value.given ? value.given->type : value.dtype, value.shape);
        const bool isOther = value.given || (tensor::isFloating(value.dtype) && value.dtype != typeOf(input));
        ValueId& copy = m_copy[input.index()] = isOther ? m_steps.asFloat(given) : given;
        if (value.given && value.given->zero != 0) {
            copy = m_steps.subtract(copy, m_steps.scalar(value.given->zero));
        }
        copy = value.given ? m_steps.scaled(copy, value.given->scale) : copy;
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
    // What moves elements rounds nothing, and runtimes have it for every type.
    const bool isMove = node.domain.empty() && ops::movesElements(node) && node.opset <= m_steps.opset();
    return !one || *one == m_steps.floatType() || isMove;
}

Result<void> ForwardCopy::addNode(const graph::Node& node)
{
    const bool isDouble = m_model.precision() == execute::Precision::Double;
    if (isInOneType(node) || ops::areElements(node, {ops::Elements::Converted})) {
        const tensor::DType wide = m_steps.floatType();
        if (!node.outputs.empty() && tensor::isFloating(typeOf(node.outputs.front()))) {
            m_steps.setFloatType(typeOf(node.outputs.front())); // of the numbers that become operands
        }
        graph::Node made = node;
        if (isDouble && ops::isCast(node) && tensor::isFloating(typeOf(node.outputs.front()))) {
            made.attributes["to"] = ops::onnxOf(tensor::DType::Float64);
        }
        const Result<void> added =
            addStandardNode(m_builder, m_steps, m_model, made, [this](graph::ValueId value) { return own(value); });
        m_steps.setFloatType(wide);
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
        const ValueId result = m_builder.addResult(m_steps.nextName());
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
