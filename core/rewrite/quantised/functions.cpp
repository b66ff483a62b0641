// SPDX-License-Identifier: Apache-2.0
#include "core/graph/attributes.h"
#include "core/ops/quantise/quantisedforms.h"
#include "core/rewrite/quantised/channels.h"
#include "core/rewrite/quantised/dequantiser.h"

namespace retro::rewrite
{

using graph::Node;

namespace
{

/// Axes of the operand of a pool; 0 where they are not known.
std::size_t windowRank(Dequantiser& to, const Node& node, ValueId operand)
{
    const auto kernel = attributeOr<std::vector<std::int64_t>>(node, "kernel_shape", {});
    return kernel.empty() ? to.rankOf(operand) : kernel.size() + 2;
}

bool quantisedFunction(Dequantiser& to, NodeId id)
{
    const Node node = to.draft().node(id);
    const ops::QuantisedForm& form = *ops::quantisedForm(node.domain, node.op);
    const std::vector<std::size_t> slots = form.quantisedSlots(node.inputs.size());
    const bool areChannelsLast = intAttribute(node, "channels_last", 0) != 0;
    if (slots.empty() || !operandOf(node, form.result).isValid()) {
        return false;
    }
    const std::size_t rank = areChannelsLast ? windowRank(to, node, node.inputs[slots[0]]) : 0;
    if (areChannelsLast && rank < 3) {
        to.note(id, "its channels come last, and the rank of its operand does not follow from the shapes that the "
                    "model declares");
        return false;
    }
    const Dequantiser::Working working(to, id);
    std::vector<ValueId> inputs;
    if (form.plain != ops::QuantisedForm::kNone) {
        inputs.push_back(node.inputs[form.plain]);
    }
    for (const std::size_t slot : slots) {
        inputs.push_back(to.floatsOf(node.inputs[slot], {operandOf(node, slot + 1), operandOf(node, slot + 2)}));
    }
    if (areChannelsLast) {
        inputs[0] = channelsFirst(to, inputs[0], rank);
    }
    const NodeForm function{"", std::string(form.function), ops::quantisedOpset(form, node),
                            ops::functionAttributes(node)};
    ValueId floats = to.add(function, "", inputs, node.outputs[0]);
    floats = areChannelsLast ? channelsLast(to, floats, rank) : floats;
    to.finishQuantised(id, floats, {operandOf(node, form.result), operandOf(node, form.result + 1)});
    return true;
}

/// NhwcMaxPool moves elements: MaxPool of the standard between two Transpose.
bool nhwcMaxPool(Dequantiser& to, NodeId id)
{
    const Node node = to.draft().node(id);
    const auto kernel = attributeOr<std::vector<std::int64_t>>(node, "kernel_shape", {});
    const std::optional<Grid> grid = to.knownGrid(operandOf(node, 0));
    if (kernel.empty() || !grid || !isOfTensor(to.draft(), *grid) || to.draft().isOutput(node.outputs[0])) {
        return false;
    }
    const ValueId floats = to.tracedFloatsOf(node.inputs[0], *grid);
    if (!floats.isValid()) {
        return false;
    }
    const Dequantiser::Working working(to, id);
    const std::size_t rank = kernel.size() + 2;
    const ValueId pooled = to.add({"", "MaxPool", 12, node.attributes}, "", {channelsFirst(to, floats, rank)}, floats);
    to.finishMoved(id, {"", "Transpose", 13, {{"perm", lastOrder(rank)}}}, "/channels last", pooled, *grid);
    return true;
}

/// Resize of levels that mixes neighbours: Resize of the floats, whose result is levels again, without what is behind
/// their decimal point.
bool resizedLevels(Dequantiser& to, NodeId id)
{
    const Node node = to.draft().node(id);
    const ValueId levels = operandOf(node, 0);
    const std::optional<Grid> grid = to.knownGrid(levels);
    const bool fillsIn =
        attributeOr<std::string>(node, "coordinate_transformation_mode", "half_pixel") == "tf_crop_and_resize";
    if (!grid || fillsIn || !isOfTensor(to.draft(), *grid)) {
        return false;
    }
    std::vector<ValueId> inputs = node.inputs;
    inputs[0] = to.tracedFloatsOf(levels, *grid);
    if (!inputs[0].isValid()) {
        return false;
    }
    const Dequantiser::Working working(to, id);
    const ValueId resized = to.add({"", node.op, node.opset, node.attributes}, "", inputs, node.outputs[0]);
    to.finishTruncated(id, resized, *grid);
    return true;
}

} // namespace

DequantiseFunction functionDequantiser(const Node& node)
{
    const bool isResize = node.domain.empty() && (node.op == "Resize" || node.op == "Upsample");
    if (isResize && attributeOr<std::string>(node, "mode", "nearest") != "nearest") {
        return resizedLevels;
    }
    if (node.domain == "com.microsoft" && node.op == "NhwcMaxPool") {
        return nhwcMaxPool;
    }
    return ops::quantisedForm(node.domain, node.op) == nullptr ? nullptr : quantisedFunction;
}

} // namespace retro::rewrite
