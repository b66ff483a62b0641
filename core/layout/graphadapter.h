// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/graph/graph.h"
#include "core/layout/collapse.h"

#include <string>
#include <vector>

namespace retro::layout
{

/// Which tensor an edge of the drawing carries, and into which operand of the reader.
struct EdgeTensor
{
    graph::ValueId value;
    std::uint32_t slot = 0;
};

/// A dataflow graph as indices. Node index = NodeId (operators, then graph inputs); constants are not drawn.
struct DrawnGraph
{
    GroupedGraph graph;                  ///< groups = scopes, parents before children, by first appearance
    std::vector<EdgeTensor> edgeTensors; ///< per edge; edges are sorted by reader, then slot
    std::vector<std::string> groupPaths; ///< per group: "encoder/layer.1"
    std::vector<Index> groupRepeats;     ///< per group: of how many like groups it is made; 1 = an ordinary one
    std::vector<Index> groupLike;        ///< per group: the first one that is built alike, itself when there is none
    [[nodiscard]] std::string_view groupName(Index group) const; ///< last part of its path: "layer.1"
};

/// Reads nodes, edges and scopes; addRepeats() finds what is built alike. Never fails; O(nodes + edges + characters of
/// scopes).
[[nodiscard]] DrawnGraph readGraph(const graph::Graph& graph);

} // namespace retro::layout
