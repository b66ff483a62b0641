// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/base/result.h"
#include "core/layout/buckets.h"
#include "core/layout/layoutinput.h"

namespace retro::layout
{

/// Adjacency and a topological order of a graph of indices.
struct Topology
{
    Buckets out;                ///< per node: its leaving edges, by edge index
    std::vector<Index> inCount; ///< per node: number of entering edges
    std::vector<Index> order;   ///< nodes, readers after what they read; ties by the order of discovery from node 0 on
};

/// O(nodes + edges). Errors (Input): an edge whose end is not in [0, nodeCount), a node that feeds itself, a cycle; the
/// message lists the nodes of one cycle by index.
[[nodiscard]] base::Result<Topology> sortTopologically(const std::vector<LayoutEdge>& edges, Index nodeCount);

/// Deepest nesting of groups.
inline constexpr Index kMaxGroupDepth = 256;

/// Checks a group tree: every index in range, no group inside itself, no more than kMaxGroupDepth levels; nodeGroups
/// empty or one entry per node.
[[nodiscard]] base::Result<void> checkGroups(const std::vector<Index>& nodeGroups,
                                             const std::vector<Index>& groupParents, Index nodeCount);

/// All groups of a checked tree, each behind the group around it; by index on one level.
[[nodiscard]] std::vector<Index> outerGroupsFirst(const std::vector<Index>& groupParents);

/// Per group of a checked tree: the outermost marked group that holds it (itself included), or kNone.
[[nodiscard]] std::vector<Index> outermostMarked(const std::vector<Index>& groupParents,
                                                 const std::vector<bool>& isMarked);

} // namespace retro::layout
