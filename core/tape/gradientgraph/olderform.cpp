// SPDX-License-Identifier: Apache-2.0
#include "core/tape/gradientgraph/olderform.h"

#include "core/graph/attributes.h"
#include "core/ops/registry.h"

#include <algorithm>
#include <array>
#include <optional>
#include <string_view>
#include <vector>

namespace retro::tape
{

namespace
{

using graph::ValueId;

/// Axes are operands from here on.
constexpr std::int64_t kNewForms = 13;
/// Axes and places may be counted from the end from here on.
constexpr std::int64_t kAnyAxis = 11;

/// The operator set since which an operator has meant the same.
struct Unchanged
{
    std::string_view op;
    std::int64_t since;
};

constexpr std::array kUnchanged{Unchanged{"Add", 7},
                                Unchanged{"And", 7},
                                Unchanged{"Cast", 9},
                                Unchanged{"Expand", 8},
                                Unchanged{"IsInf", 10},
                                Unchanged{"Not", 1},
                                Unchanged{"Div", 7},
                                Unchanged{"Elu", 6},
                                Unchanged{"Exp", 6},
                                Unchanged{"Gemm", 11},
                                Unchanged{"HardSigmoid", 6},
                                Unchanged{"Identity", 1},
                                Unchanged{"LeakyRelu", 6},
                                Unchanged{"Less", 9},
                                Unchanged{"MatMul", 9},
                                Unchanged{"Mul", 7},
                                Unchanged{"Neg", 6},
                                Unchanged{"GreaterOrEqual", 12},
                                Unchanged{"Range", 11},
                                Unchanged{"Shape", 1},
                                Unchanged{"Slice", 10},
                                Unchanged{"Relu", 6},
                                Unchanged{"Sigmoid", 6},
                                Unchanged{"Softplus", 1},
                                Unchanged{"Softsign", 1},
                                Unchanged{"Sqrt", 6},
                                Unchanged{"Sub", 7},
                                Unchanged{"Tanh", 6},
                                Unchanged{"ThresholdedRelu", 10},
                                Unchanged{"Transpose", 1},
                                Unchanged{"Where", 9}};

std::optional<std::vector<double>> constantOf(const execute::BoundModel& model, const graph::Node& node,
                                              std::size_t slot)
{
    if (slot >= node.inputs.size() || !node.inputs[slot].isValid() || !model.isConstant(node.inputs[slot])) {
        return std::nullopt;
    }
    const tensor::Tensor data = model.constant(node.inputs[slot]).contiguous();
    std::vector<double> values;
    for (std::int64_t i = 0; i < data.size(); ++i) {
        values.push_back(data.at(i));
    }
    return values;
}

/// A Reshape may allow zeros from operator set 14 on; where its shape has none, that says nothing.
bool settleReshape(graph::Node& node, std::int64_t /*opset*/, const execute::BoundModel& model)
{
    const auto shape = constantOf(model, node, 1);
    if (!shape || std::ranges::find(*shape, 0.0) != shape->end()) {
        return false;
    }
    node.attributes.erase("allowzero");
    return true;
}

/// Its sizes are an operand from operator set 13 on.
bool settleSplit(graph::Node& node, std::int64_t opset, const execute::BoundModel& model)
{
    if (opset >= kNewForms) {
        return !node.attributes.contains("num_outputs");
    }
    const auto sizes = constantOf(model, node, 1);
    if (!sizes) {
        return false;
    }
    node.attributes["split"] = std::vector<std::int64_t>(sizes->begin(), sizes->end());
    node.inputs.resize(1);
    return true;
}

/// Its bounds are operands from operator set 11 on.
bool settleClip(graph::Node& node, std::int64_t opset, const execute::BoundModel& model)
{
    if (opset >= kAnyAxis) {
        return true;
    }
    constexpr std::array kBounds{"min", "max"};
    for (std::size_t slot = 1; slot < node.inputs.size(); ++slot) {
        const auto bound = constantOf(model, node, slot);
        if (node.inputs[slot].isValid() && !(bound && bound->size() == 1)) {
            return false;
        }
        if (bound) {
            node.attributes[kBounds.at(slot - 1)] = bound->front();
        }
    }
    node.inputs.resize(1);
    return true;
}

std::int64_t rankOf(const execute::BoundModel& model, ValueId value)
{
    return static_cast<std::int64_t>(model.typeOf(value).shape.size());
}

/// The axes of Squeeze and Unsqueeze are an operand from operator set 13 on; before 11 none is counted from the end.
bool settleAxes(graph::Node& node, std::int64_t opset, const execute::BoundModel& model)
{
    if (opset >= kNewForms || node.inputs.size() < 2) {
        return true;
    }
    const auto given = constantOf(model, node, 1);
    if (!given) {
        return false;
    }
    const std::int64_t rank = rankOf(model, node.op == "Squeeze" ? node.inputs.front() : node.outputs.front());
    std::vector<std::int64_t> axes(given->begin(), given->end());
    std::ranges::for_each(axes, [rank](std::int64_t& axis) { axis += axis < 0 ? rank : 0; });
    node.attributes["axes"] = std::move(axes);
    node.inputs.resize(1);
    return true;
}

/// The axis of Concat; before operator set 11 it is not counted from the end.
bool settleConcat(graph::Node& node, std::int64_t opset, const execute::BoundModel& model)
{
    const auto axis = node.attributes.find("axis");
    auto* given = axis == node.attributes.end() ? nullptr : std::get_if<std::int64_t>(&axis->second);
    if (given != nullptr && *given < 0 && opset < kAnyAxis) {
        *given += rankOf(model, node.outputs.front());
    }
    return true;
}

/// Its places may be counted from the end from operator set 11 on.
bool settleGather(graph::Node& node, std::int64_t opset, const execute::BoundModel& model)
{
    if (opset >= kAnyAxis) {
        return true;
    }
    const auto places = constantOf(model, node, 1);
    return places && std::ranges::all_of(*places, [](double place) { return place >= 0; });
}

/// Before operator set 13 the axes from `axis` on were one; the last axis by itself means the same.
bool settleSoftmax(graph::Node& node, std::int64_t opset, const execute::BoundModel& model)
{
    if (opset >= kNewForms) {
        return true;
    }
    const std::int64_t rank = rankOf(model, node.inputs.front());
    const std::int64_t axis = graph::intAttribute(node, "axis", -1);
    if (axis != -1 && axis != rank - 1) {
        return false;
    }
    node.attributes["axis"] = rank - 1;
    return true;
}

/// An operator that has another form in some operator set before 14, and how a node takes it; false where it cannot.
struct Settled
{
    std::string_view op;
    bool (*settle)(graph::Node&, std::int64_t opset, const execute::BoundModel&);
};

constexpr std::array kSettled{Settled{"Clip", settleClip},       Settled{"Concat", settleConcat},
                              Settled{"Gather", settleGather},   Settled{"Reshape", settleReshape},
                              Settled{"Softmax", settleSoftmax}, Settled{"Split", settleSplit},
                              Settled{"Squeeze", settleAxes},    Settled{"Unsqueeze", settleAxes}};

bool isUnchanged(const graph::Node& node, std::int64_t opset)
{
    const auto at = std::ranges::find(kUnchanged, node.op, &Unchanged::op);
    const bool isWholeGemm = node.op == "Gemm" && node.inputs.size() == 3; // its third operand could not be left out
    const bool isPartOfShape = node.op == "Shape" && !node.attributes.empty(); // not of all axes
    return at != kUnchanged.end() && (opset >= at->since || isWholeGemm) && !isPartOfShape;
}

/// True when the node has become one of an operator set before 14.
bool becomesOlder(graph::Node& node, std::int64_t opset, const execute::BoundModel& model)
{
    const auto at = std::ranges::find(kSettled, node.op, &Settled::op);
    return at == kSettled.end() ? isUnchanged(node, opset) : at->settle(node, opset, model);
}

} // namespace

void settleOpset(graph::Node& node, std::int64_t opset, const execute::BoundModel& model)
{
    if (!node.domain.empty() || node.opset == opset || node.opset < kNewForms) {
        return;
    }
    if (opset <= kNewForms) {
        node.opset = becomesOlder(node, opset, model) ? opset : node.opset;
        return;
    }
    const ops::OperatorDeclaration* own = ops::find(node.domain, node.op, node.opset);
    if (own != nullptr && own == ops::find(node.domain, node.op, opset)) {
        node.opset = opset;
    }
}

} // namespace retro::tape
