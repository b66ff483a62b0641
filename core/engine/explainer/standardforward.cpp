// SPDX-License-Identifier: Apache-2.0
#include "core/engine/explainer/standardforward.h"

#include "core/ops/registry.h"
#include "core/rewrite/attributes.h"
#include "core/tape/gradientgraph/olderform.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>

namespace retro::engine
{

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
    const std::int64_t axis = rewrite::intAttribute(node, "axis", 1);
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
        value = steps.emitter().reduce("ReduceMean", value, {static_cast<std::int64_t>(axis)});
    }
    steps.emitter().named("Identity", {value}, output);
}

/// Makes a node of an older operator set one of `opset`; false where it means something else there. `rank` is that of
/// its first operand.
bool becomesNewer(graph::Node& node, RelevanceSteps& steps, std::size_t rank, std::int64_t opset)
{
    if (node.opset > opset) { // written in steps afterwards (withStandardNodes)
        return true;
    }
    const bool isSoftmax = node.op == "Softmax" || node.op == "LogSoftmax";
    const auto form = std::ranges::find(kNewerForms, node.op, &NewerForm::op);
    if (isSoftmax && node.opset < kAxesOperands) {
        if (!softmaxBecomesNewer(node, rank)) {
            return false;
        }
    } else if (form != kNewerForms.end() && node.opset < form->before) {
        for (std::size_t i = 0; i < form->attributes.size() && !form->attributes[i].empty(); ++i) {
            attributeToOperand(node, steps, form->attributes[i], i + 1);
        }
    } else {
        const ops::OperatorDeclaration* own = ops::find(node.domain, node.op, node.opset);
        if (own == nullptr || own != ops::find(node.domain, node.op, opset)) {
            return false;
        }
    }
    if (node.op == "BatchNormalization") {
        node.attributes.erase("spatial");
    }
    node.opset = opset;
    return true;
}

} // namespace

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
    const std::int64_t opset = steps.emitter().opset();
    if (made.domain == "retrograde" || made.domain == "ai.retrograde") {
        if (made.domain == "retrograde" && made.op == "MatMul" && made.inputs.size() == 3) {
            const ValueId product = steps.op("MatMul", {made.inputs[0], made.inputs[1]});
            steps.emitter().named("Add", {product, made.inputs[2]}, made.outputs[0]);
            return {};
        }
        if (made.op == "Gate") {
            steps.emitter().named("Mul", made.inputs, made.outputs[0]);
            return {};
        }
        if (made.op == "Gather") { // an index outside ends with an error there
            steps.emitter().named("Gather", made.inputs, made.outputs[0], made.attributes);
            return {};
        }
        if (made.op == "PassThrough" || made.op == "Detach" || made.op == "Checkpoint") {
            steps.emitter().named("Identity", {made.inputs[0]}, made.outputs[0]);
            return {};
        }
        return noStandardForm(node, "it is an operator of our own (a quantised layer, a fused one); export the float "
                                    "model, or leave the optional rewrites out");
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

} // namespace retro::engine
