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

/// Kahn's algorithm. Takes `missing` (entering edges per node) down to what cannot be sorted.
std::vector<Index> takeReady(const std::vector<LayoutEdge>& edges, const Buckets& out, std::vector<Index>& missing)
{
    std::vector<Index> order;
    order.reserve(missing.size());
    for (Index node = 0; node < static_cast<Index>(missing.size()); ++node) {
        if (missing[node] == 0) {
            order.push_back(node);
        }
    }
    for (std::size_t i = 0; i < order.size(); ++i) {
        for (const Index edge : out[order[i]]) {
            if (--missing[edges[edge].to] == 0) {
                order.push_back(edges[edge].to);
            }
        }
    }
    return order;
}

/// True for an index that is neither kNone nor a group.
bool isMissing(Index group, std::size_t groupCount) { return group < kNone || group >= static_cast<Index>(groupCount); }

/// Groups around `group`, itself included; stops counting above kMaxGroupDepth.
Index depthOf(const std::vector<Index>& groupParents, Index group)
{
    Index depth = 0;
    for (; group != kNone && depth <= kMaxGroupDepth; group = groupParents[group]) {
        ++depth;
    }
    return depth;
}

base::Result<void> checkGroupTree(const std::vector<Index>& groupParents)
{
    for (std::size_t group = 0; group < groupParents.size(); ++group) {
        if (isMissing(groupParents[group], groupParents.size())) {
            return base::inputError(fmt::format("is inside group {}, which does not exist", groupParents[group]),
                                    fmt::format("group {}", group));
        }
    }
    for (std::size_t group = 0; group < groupParents.size(); ++group) {
        if (depthOf(groupParents, static_cast<Index>(group)) > kMaxGroupDepth) {
            return base::inputError(
                fmt::format("is inside itself or more than {} groups deep; name fewer levels", kMaxGroupDepth),
                fmt::format("group {}", group));
        }
    }
    return {};
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
    topology.order = takeReady(edges, topology.out, missing);
    if (topology.order.size() < static_cast<std::size_t>(nodeCount)) {
        return cycleError(edges, missing);
    }
    return topology;
}

base::Result<void> checkGroups(const std::vector<Index>& nodeGroups, const std::vector<Index>& groupParents,
                               Index nodeCount)
{
    RETRO_CHECK(checkGroupTree(groupParents));
    if (!nodeGroups.empty() && nodeGroups.size() != static_cast<std::size_t>(nodeCount)) {
        return base::inputError(
            fmt::format("groups are given for {} of {} nodes; give all or none", nodeGroups.size(), nodeCount));
    }
    for (std::size_t node = 0; node < nodeGroups.size(); ++node) {
        if (isMissing(nodeGroups[node], groupParents.size())) {
            return base::inputError(
                fmt::format("is in group {}, but there are {} groups", nodeGroups[node], groupParents.size()),
                fmt::format("node {}", node));
        }
    }
    return {};
}

std::vector<Index> outerGroupsFirst(const std::vector<Index>& groupParents)
{
    const auto count = static_cast<Index>(groupParents.size());
    return groupBy(count, kMaxGroupDepth + 2, [&](Index group) { return depthOf(groupParents, group); }).items;
}

std::vector<Index> outermostMarked(const std::vector<Index>& groupParents, const std::vector<bool>& isMarked)
{
    std::vector<Index> result(groupParents.size(), kNone);
    for (const Index group : outerGroupsFirst(groupParents)) {
        const Index around = groupParents[group] == kNone ? kNone : result[groupParents[group]];
        result[group] = around == kNone && isMarked[group] ? group : around;
    }
    return result;
}

} // namespace retro::layout
