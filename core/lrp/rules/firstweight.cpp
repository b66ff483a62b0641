// SPDX-License-Identifier: Apache-2.0
#include "core/lrp/rules/firstweight.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

namespace retro::lrp
{

using execute::BoundModel;
using execute::ValueId;

base::Result<std::vector<bool>> nodesBelowInput(const BoundModel& model, const std::string& name)
{
    const graph::Graph& graph = model.graph();
    std::vector<bool> isBelow(graph.nodeCount(), name.empty());
    if (name.empty()) {
        return isBelow;
    }
    const auto inputs = graph.inputs();
    const auto start = std::ranges::find_if(inputs, [&](ValueId input) { return graph.value(input).name == name; });
    if (start == inputs.end()) {
        std::vector<std::string> known;
        std::ranges::transform(inputs, std::back_inserter(known),
                               [&](ValueId input) { return "\"" + graph.value(input).name + "\""; });
        return base::usageError(
            fmt::format("\"first\" asks for the first layer from the input \"{}\", which the model does not have; "
                        "its inputs are {}",
                        name, fmt::join(known, ", ")),
            "composite");
    }
    std::vector<bool> isReached(graph.valueCount(), false);
    isReached[start->index()] = true;
    for (std::size_t i = 0; i < graph.nodeCount(); ++i) {
        const graph::Node& node = graph.node(graph::NodeId(i));
        isBelow[i] = std::ranges::any_of(
            node.inputs, [&](ValueId operand) { return operand.isValid() && isReached[operand.index()]; });
        for (const ValueId output : node.outputs) {
            if (isBelow[i] && output.isValid()) {
                isReached[output.index()] = true;
            }
        }
    }
    return isBelow;
}

} // namespace retro::lrp
