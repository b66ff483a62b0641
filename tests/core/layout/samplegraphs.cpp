// SPDX-License-Identifier: Apache-2.0
#include "tests/core/layout/samplegraphs.h"

namespace samples
{

namespace
{

using retro::layout::kNone;

/// mt19937 is fully specified, the standard distributions are not: take remainders, so that every library draws the
/// same graph.
Index below(std::mt19937& random, Index limit)
{
    return static_cast<Index>(random() % static_cast<std::uint32_t>(limit));
}

} // namespace

Index addNode(LayoutInput& graph, const std::vector<Index>& operands)
{
    const auto node = static_cast<Index>(graph.nodeSizes.size());
    graph.nodeSizes.push_back({120, 28});
    for (const Index operand : operands) {
        graph.edges.push_back({operand, node});
    }
    return node;
}

LayoutInput chain(Index count)
{
    LayoutInput graph;
    for (Index node = 0; node < count; ++node) {
        addNode(graph, node == 0 ? std::vector<Index>() : std::vector<Index>{node - 1});
    }
    return graph;
}

LayoutInput residualChain(Index blocks)
{
    LayoutInput graph;
    Index x = addNode(graph);
    for (Index block = 0; block < blocks; ++block) {
        Index inner = x;
        for (int i = 0; i < 4; ++i) {
            inner = addNode(graph, {inner});
        }
        x = addNode(graph, {inner, x});
    }
    return graph;
}

LayoutInput transformer(Index blocks)
{
    LayoutInput graph;
    Index x = addNode(graph);
    for (Index block = 0; block < blocks; ++block) {
        const Index norm = addNode(graph, {x});
        const Index query = addNode(graph, {addNode(graph, {norm})});
        const Index key = addNode(graph, {addNode(graph, {norm})});
        const Index value = addNode(graph, {addNode(graph, {norm})});
        const Index weights = addNode(graph, {addNode(graph, {addNode(graph, {query, key})})});
        const Index mixed = addNode(graph, {weights, value});
        const Index sum = addNode(graph, {addNode(graph, {addNode(graph, {mixed})}), x});
        const Index hidden = addNode(graph, {addNode(graph, {sum})});
        x = addNode(graph, {addNode(graph, {addNode(graph, {hidden})}), sum});
    }
    return graph;
}

LayoutInput randomGraph(Index nodes, Index edges, Index reach, std::uint32_t seed)
{
    std::mt19937 random(seed);
    LayoutInput graph;
    for (Index node = 0; node < nodes; ++node) {
        graph.nodeSizes.push_back({20.0 + below(random, 160), 10.0 + below(random, 50)});
    }
    for (Index edge = 0; edge < edges && nodes > 1; ++edge) {
        const Index from = below(random, nodes - 1);
        graph.edges.push_back({from, from + 1 + below(random, std::min(reach, nodes - 1 - from))});
    }
    return graph;
}

void addRandomGroups(LayoutInput& graph, Index groups, std::uint32_t seed)
{
    std::mt19937 random(seed);
    for (Index group = 0; group < groups; ++group) {
        graph.groupParents.push_back(below(random, group + 1) - 1);
    }
    for (std::size_t node = 0; node < graph.nodeSizes.size(); ++node) {
        graph.nodeGroups.push_back(below(random, 3) == 0 ? kNone : below(random, groups));
    }
}

} // namespace samples
