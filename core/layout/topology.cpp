// SPDX-License-Identifier: Apache-2.0
#include "core/layout/topology.h"

#include <fmt/format.h>

namespace retro::layout
{

namespace
{

constexpr std::size_t kNamedCycleNodes = 8;

base::Result<void> checkEdges(const std::vector<LayoutEdge>& edges, Index nodeCount)
{
    for (std::size_t i = 0; i < edges.size(); ++i) {
        const auto [from, to] = edges[i];
        if (from < 0 || to < 0 || from >= nodeCount || to >= nodeCount) {
            return base::inputError(
                fmt::format("joins node {} with node {}, but there are {} nodes", from, to, nodeCount),
                fmt::format("edge {}", i));
        }
        if (from == to) {
            return base::inputError("reads its own result; a layered drawing needs a graph without cycles",
                                    fmt::format("node {}", from));
        }
    }
    return {};
}

/// Describes one cycle: follows unsorted predecessors from any unsorted node until a node comes again.
base::Error cycleError(const std::vector<LayoutEdge>& edges, const std::vector<Index>& missing)
{
    std::vector<Index> before(missing.size(), kNone);
    Index node = kNone;
    for (const LayoutEdge& edge : edges) {
        if (missing[edge.from] > 0 && missing[edge.to] > 0) {
            before[edge.to] = edge.from;
            node = edge.to;
        }
    }
    std::vector<bool> seen(missing.size(), false);
    while (!seen[node]) {
        seen[node] = true;
        node = before[node];
    }
    std::string path = fmt::format("{}", node);
    std::size_t named = 1;
    for (Index at = before[node]; at != node; at = before[at], ++named) {
        if (named < kNamedCycleNodes) {
            path = fmt::format("{} → {}", at, path);
        }
    }
    const char* more = named > kNamedCycleNodes ? "… → " : "";
    return base::inputError(
        fmt::format("{} nodes form a cycle ({} → {}{}); a layered drawing needs a graph without cycles", named, node,
                    more, path),
        fmt::format("node {}", node));
}

} // namespace

base::Result<Topology> sortTopologically(const std::vector<LayoutEdge>& edges, Index nodeCount)
{
    RETRO_CHECK(checkEdges(edges, nodeCount));
    Topology topology;
    topology.out = groupBy(static_cast<Index>(edges.size()), nodeCount, [&](Index edge) { return edges[edge].from; });
    topology.inCount.assign(static_cast<std::size_t>(nodeCount), 0);
    for (const LayoutEdge& edge : edges) {
        ++topology.inCount[edge.to];
    }
    std::vector<Index> missing = topology.inCount;
    topology.order.reserve(static_cast<std::size_t>(nodeCount));
    for (Index node = 0; node < nodeCount; ++node) {
        if (missing[node] == 0) {
            topology.order.push_back(node);
        }
    }
    for (std::size_t i = 0; i < topology.order.size(); ++i) {
        for (const Index edge : topology.out[topology.order[i]]) {
            if (--missing[edges[edge].to] == 0) {
                topology.order.push_back(edges[edge].to);
            }
        }
    }
    if (topology.order.size() < static_cast<std::size_t>(nodeCount)) {
        return cycleError(edges, missing);
    }
    return topology;
}

base::Result<void> checkGroups(const std::vector<Index>& nodeGroups, const std::vector<Index>& groupParents,
                               Index nodeCount)
{
    const auto groupCount = static_cast<Index>(groupParents.size());
    if (!nodeGroups.empty() && nodeGroups.size() != static_cast<std::size_t>(nodeCount)) {
        return base::inputError(
            fmt::format("groups are given for {} of {} nodes; give all or none", nodeGroups.size(), nodeCount));
    }
    const auto isMissing = [&](Index group) { return group < kNone || group >= groupCount; };
    for (std::size_t node = 0; node < nodeGroups.size(); ++node) {
        if (isMissing(nodeGroups[node])) {
            return base::inputError(
                fmt::format("is in group {}, but there are {} groups", nodeGroups[node], groupCount),
                fmt::format("node {}", node));
        }
    }
    // A chain of parents longer than the number of groups has come round; states: 0 new, 1 on the chain, 2 known to
    // end.
    std::vector<char> state(groupParents.size(), 0);
    for (Index group = 0; group < groupCount; ++group) {
        Index at = group;
        for (; at != kNone && state[at] == 0; at = groupParents[at]) {
            if (isMissing(groupParents[at])) {
                return base::inputError(fmt::format("is inside group {}, which does not exist", groupParents[at]),
                                        fmt::format("group {}", at));
            }
            state[at] = 1;
        }
        if (at != kNone && state[at] == 1) {
            return base::inputError("is inside itself", fmt::format("group {}", at));
        }
        for (at = group; at != kNone && state[at] == 1; at = groupParents[at]) {
            state[at] = 2;
        }
    }
    return {};
}

} // namespace retro::layout
