// SPDX-License-Identifier: Apache-2.0
#include "core/execute/reachedvalues.h"

#include <algorithm>

namespace retro::execute
{

std::vector<bool> reachedValues(const BoundModel& model, std::span<const ValueId> inputs)
{
    const graph::Graph& graph = model.graph();
    std::vector<bool> isReached(graph.valueCount(), false);
    const auto carries = [&model](ValueId value) {
        return value.isValid() && model.isTracked(value) && tensor::isFloating(model.typeOf(value).dtype);
    };
    for (const ValueId input : inputs) {
        isReached[input.index()] = carries(input);
    }
    for (const graph::Node& node : graph.nodes()) {
        const bool depends = std::ranges::any_of(
            node.inputs, [&isReached](ValueId operand) { return operand.isValid() && isReached[operand.index()]; });
        for (const ValueId output : node.outputs) {
            if (depends && carries(output)) { // nothing carries what an operator without a gradient makes
                isReached[output.index()] = true;
            }
        }
    }
    return isReached;
}

} // namespace retro::execute
