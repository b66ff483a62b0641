// SPDX-License-Identifier: Apache-2.0
#include "core/engine/gradient/critical.h"

#include <algorithm>
#include <array>

namespace retro::engine
{

CriticalNodes criticalNodes(const execute::BoundModel& model, base::ValueId target, std::span<const base::ValueId> from)
{
    const graph::Graph& graph = model.graph();
    const auto isFloating = [&model](base::ValueId value) { return tensor::isFloating(model.typeOf(value).dtype); };
    const analysis::Flow flow = analysis::flowOf(graph, [&](base::NodeId node, std::size_t slot) {
        return isFloating(graph.node(node).inputs[slot]) &&
               model.op(node).structure().kind() != ops::StructureKind::NoRelevance;
    });
    std::vector<analysis::FlowName> inputs;
    for (const base::ValueId input : graph.inputs()) {
        const bool isAsked = from.empty() || std::ranges::find(from, input) != from.end();
        if (isFloating(input) && isAsked) {
            inputs.push_back(input.value);
        }
    }
    const std::array<analysis::FlowName, 1> outputs{target.value};
    const analysis::CriticalSubgraph found = analysis::criticalSubgraph(flow, outputs, inputs);
    CriticalNodes result{found.critical.size(), {}};
    for (std::size_t i = 0; i < found.skipped.size(); ++i) {
        const graph::Node& node = graph.nodes()[found.skipped[i]];
        result.leftOut.push_back({node.name, node.op, found.reasons[i]});
    }
    return result;
}

} // namespace retro::engine
