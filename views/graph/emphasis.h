// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "views/graph/graphscene.h"

#include <vector>

namespace retro::views
{

/// Which way relevance is traced through the network: it runs upwards, from the explained value to the inputs.
enum class Trace { Upstream, Downstream };

/// Nodes of a graph that stand out while the others are faint. Per node; empty = nothing stands out.
using NodeSet = std::vector<bool>;

/// A node and all that relevance may reach from it (upstream: what it computes from), or all that it may have come
/// from (downstream: what is computed from it). O(nodes + edges).
[[nodiscard]] NodeSet traceFrom(const GraphBook& book, base::NodeId node, Trace direction);
/// These nodes and all that lie on a way from one of them to another. O(nodes + edges).
[[nodiscard]] NodeSet between(const GraphBook& book, const std::vector<base::NodeId>& nodes);
/// These nodes and no others.
[[nodiscard]] NodeSet setOf(const GraphBook& book, const std::vector<base::NodeId>& nodes);
/// Number of nodes in a set.
[[nodiscard]] layout::Index sizeOf(const NodeSet& set);

/// A set on a drawing: boxes with a node of it, edges with both ends in it.
struct Emphasis
{
    std::vector<bool> boxes;
    std::vector<bool> edges;

    [[nodiscard]] bool isFaintBox(layout::Index box) const
    {
        return !boxes.empty() && !boxes[static_cast<std::size_t>(box)];
    }
    [[nodiscard]] bool isFaintEdge(layout::Index edge) const
    {
        return !boxes.empty() && !edges[static_cast<std::size_t>(edge)];
    }
};

/// Empty for an empty set.
[[nodiscard]] Emphasis emphasise(const GraphScene& scene, const NodeSet& set);

} // namespace retro::views
