// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/graph/graph.h"

#include <vector>

namespace retro::graph
{

/// What a walk does behind a value.
enum class Walk {
    GoOn, ///< looks at the operands of its node, too
    Turn, ///< looks no further behind it
    Stop, ///< ends
};

/// Calls visit(value) for `from` and for values behind it, against the direction of the graph: the nearest first, those
/// of one node in the order of its operands, each once.
template <class Visit>
void walkBack(const Graph& graph, base::ValueId from, const Visit& visit)
{
    std::vector<bool> isSeen(graph.valueCount());
    std::vector<base::ValueId> waiting{from};
    for (std::size_t at = 0; at < waiting.size(); ++at) {
        const Walk walk = visit(waiting[at]);
        if (walk == Walk::Stop) {
            return;
        }
        const base::NodeId node = walk == Walk::Turn ? base::NodeId() : graph.nodeOf(waiting[at]);
        if (!node.isValid() || graph.isInput(node)) {
            continue;
        }
        for (const base::ValueId operand : graph.node(node).inputs) {
            if (operand.isValid() && !isSeen[operand.index()]) {
                isSeen[operand.index()] = true;
                waiting.push_back(operand);
            }
        }
    }
}

} // namespace retro::graph
