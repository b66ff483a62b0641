// SPDX-License-Identifier: Apache-2.0
#include "core/layout/likegroups.h"

#include <algorithm>
#include <utility>

namespace retro::layout
{

namespace
{

/// Per group: 0 = outermost. Parents stand before their children.
std::vector<Index> depthsOf(const GroupedGraph& graph)
{
    std::vector<Index> depths(graph.groupParents.size(), 0);
    for (std::size_t group = 0; group < depths.size(); ++group) {
        const Index parent = graph.groupParents[group];
        depths[group] = parent == kNone ? 0 : depths[static_cast<std::size_t>(parent)] + 1;
    }
    return depths;
}

/// Per group: another one is built alike.
std::vector<bool> repeatedOf(const DrawnGraph& drawn)
{
    std::vector<bool> repeated(drawn.groupLike.size(), false);
    for (std::size_t group = 0; group < repeated.size(); ++group) {
        const auto like = static_cast<std::size_t>(drawn.groupLike[group]);
        if (like != group) {
            repeated[like] = repeated[group] = true;
        }
    }
    return repeated;
}

/// The group of this depth that holds the node; kNone where it lies further out.
Index groupAt(const GroupedGraph& graph, const std::vector<Index>& depths, std::size_t node, Index depth)
{
    Index group = graph.nodeGroups[node];
    while (group != kNone && depths[static_cast<std::size_t>(group)] > depth) {
        group = graph.groupParents[static_cast<std::size_t>(group)];
    }
    return group != kNone && depths[static_cast<std::size_t>(group)] == depth ? group : kNone;
}

/// Those with nodes.
std::vector<LikeGroup> filledGroups(std::vector<std::vector<std::uint32_t>> nodesOfGroups)
{
    std::vector<LikeGroup> found;
    for (std::size_t group = 0; group < nodesOfGroups.size(); ++group) {
        if (!nodesOfGroups[group].empty()) {
            found.push_back({static_cast<Index>(group), std::move(nodesOfGroups[group])});
        }
    }
    return found;
}

} // namespace

std::vector<LikeGroup> likeGroups(const DrawnGraph& drawn, std::size_t operators)
{
    const GroupedGraph& graph = drawn.graph;
    const std::vector<Index> depths = depthsOf(graph);
    const std::vector<bool> isRepeated = repeatedOf(drawn);
    const Index deepest = depths.empty() ? -1 : *std::ranges::max_element(depths);
    const std::size_t count = std::min(operators, graph.nodeGroups.size());
    for (Index depth = 0; depth <= deepest; ++depth) {
        std::vector<std::vector<std::uint32_t>> nodes(depths.size());
        for (std::size_t node = 0; node < count; ++node) {
            const Index group = groupAt(graph, depths, node, depth);
            if (group != kNone && isRepeated[static_cast<std::size_t>(group)]) {
                nodes[static_cast<std::size_t>(group)].push_back(static_cast<std::uint32_t>(node));
            }
        }
        std::vector<LikeGroup> found = filledGroups(std::move(nodes));
        if (found.size() >= kFewestLikeGroups) {
            std::ranges::sort(found, {}, [](const LikeGroup& one) { return one.nodes.front(); });
            return found;
        }
    }
    return {};
}

} // namespace retro::layout
