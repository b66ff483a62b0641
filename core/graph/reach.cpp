// SPDX-License-Identifier: Apache-2.0
#include "core/graph/reach.h"

#include <algorithm>

namespace retro::graph
{

namespace
{

void mark(std::vector<bool>& isReached, std::span<const base::ValueId> values)
{
    for (const base::ValueId value : values) {
        if (value.isValid()) {
            isReached[value.index()] = true;
        }
    }
}

Reach begunAt(const Graph& graph, std::span<const base::ValueId> values)
{
    Reach reach{std::vector<bool>(graph.valueCount(), false), std::vector<bool>(graph.runNodeCount(), false)};
    mark(reach.values, values);
    return reach;
}

bool anyOf(const std::vector<bool>& isReached, std::span<const base::ValueId> values)
{
    return std::ranges::any_of(values,
                               [&](base::ValueId value) { return value.isValid() && isReached[value.index()]; });
}

} // namespace

Reach ancestorsOf(const Graph& graph, std::span<const base::ValueId> values, const PassesNode& passes)
{
    Reach reach = begunAt(graph, values);
    for (std::size_t i = graph.nodeCount(); i-- > 0;) { // operands come before the nodes that read them
        const Node& node = graph.node(base::NodeId(i));
        reach.nodes[i] = anyOf(reach.values, node.outputs);
        if (reach.nodes[i] && (!passes || passes(node))) {
            mark(reach.values, node.inputs);
        }
    }
    for (const base::ValueId input : graph.inputs()) {
        reach.nodes[graph.nodeOf(input).index()] = reach.values[input.index()];
    }
    return reach;
}

Reach descendantsOf(const Graph& graph, std::span<const base::ValueId> values, const PassesNode& passes)
{
    Reach reach = begunAt(graph, values);
    for (std::size_t i = 0; i < graph.nodeCount(); ++i) {
        const Node& node = graph.node(base::NodeId(i));
        reach.nodes[i] = anyOf(reach.values, node.inputs) && (!passes || passes(node));
        if (reach.nodes[i]) {
            mark(reach.values, node.outputs);
        }
    }
    for (const base::ValueId input : graph.inputs()) {
        reach.nodes[graph.nodeOf(input).index()] = reach.values[input.index()];
    }
    return reach;
}

std::set<base::NodeId> nodesMaking(const Graph& graph, base::ValueId wanted,
                                   const std::function<bool(base::ValueId)>& isKnown)
{
    std::set<base::NodeId> nodes;
    std::vector<base::ValueId> open{wanted};
    while (!open.empty()) {
        const base::ValueId value = open.back();
        open.pop_back();
        const base::NodeId producer = value.isValid() ? graph.value(value).producer : base::NodeId();
        if (producer.isValid() && !isKnown(value) && nodes.insert(producer).second) {
            const std::vector<base::ValueId>& operands = graph.node(producer).inputs;
            open.insert(open.end(), operands.begin(), operands.end());
        }
    }
    return nodes;
}

} // namespace retro::graph
