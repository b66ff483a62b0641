// SPDX-License-Identifier: Apache-2.0
#include "core/graph/attributes.h"
#include "core/rewrite/quantised/dequantiser.h"

namespace retro::rewrite
{

using graph::Node;

namespace
{

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
    return isResize && attributeOr<std::string>(node, "mode", "nearest") != "nearest" ? resizedLevels : nullptr;
}

} // namespace retro::rewrite
