// SPDX-License-Identifier: Apache-2.0
#include "views/graph/emphasis.h"

#include <algorithm>

namespace retro::views
{

using layout::Index;
using layout::kNone;

namespace
{

/// One end of an edge: where a trace in a direction comes from, or goes to.
Index endOf(const layout::LayoutEdge& edge, Trace direction, bool isFar)
{
    return (direction == Trace::Upstream) == isFar ? edge.from : edge.to;
}

NodeSet reachedFrom(const GraphBook& book, const std::vector<base::NodeId>& nodes, Trace direction)
{
    const layout::GroupedGraph& graph = book.drawn.graph;
    const layout::Buckets next = layout::groupBy(static_cast<Index>(graph.edges.size()), graph.nodeCount,
                                                 [&](Index e) { return endOf(graph.edges[e], direction, false); });
    NodeSet set(static_cast<std::size_t>(graph.nodeCount), false);
    std::vector<Index> open;
    for (const base::NodeId node : nodes) {
        open.push_back(static_cast<Index>(node.index()));
        set[node.index()] = true;
    }
    while (!open.empty()) {
        const Index at = open.back();
        open.pop_back();
        for (const Index edge : next[at]) {
            const Index other = endOf(graph.edges[edge], direction, true);
            if (!set[other]) {
                set[other] = true;
                open.push_back(other);
            }
        }
    }
    return set;
}

} // namespace

NodeSet traceFrom(const GraphBook& book, base::NodeId node, Trace direction)
{
    return reachedFrom(book, {node}, direction);
}

/// On a way between two of them is what can be reached from one in each direction.
NodeSet between(const GraphBook& book, const std::vector<base::NodeId>& nodes)
{
    NodeSet set = reachedFrom(book, nodes, Trace::Upstream);
    const NodeSet other = reachedFrom(book, nodes, Trace::Downstream);
    for (std::size_t node = 0; node < set.size(); ++node) {
        set[node] = set[node] && other[node];
    }
    return set;
}

NodeSet setOf(const GraphBook& book, const std::vector<base::NodeId>& nodes)
{
    NodeSet set(static_cast<std::size_t>(book.drawn.graph.nodeCount), false);
    for (const base::NodeId node : nodes) {
        set[node.index()] = true;
    }
    return set;
}

Index sizeOf(const NodeSet& set) { return static_cast<Index>(std::count(set.begin(), set.end(), true)); }

Emphasis emphasise(const GraphScene& scene, const NodeSet& set)
{
    Emphasis out;
    if (set.empty()) {
        return out;
    }
    out.boxes.assign(scene.visible.nodes.size(), false);
    for (std::size_t node = 0; node < set.size(); ++node) {
        const Index box = scene.visible.visibleOf[node];
        if (set[node] && box != kNone) {
            out.boxes[box] = true;
        }
    }
    out.edges.assign(scene.visible.edges.size(), false);
    const layout::GroupedGraph& graph = scene.book->drawn.graph;
    for (std::size_t e = 0; e < graph.edges.size(); ++e) {
        const Index visible = scene.visible.visibleEdgeOf[e];
        if (visible != kNone && set[graph.edges[e].from] && set[graph.edges[e].to]) {
            out.edges[visible] = true;
        }
    }
    return out;
}

} // namespace retro::views
