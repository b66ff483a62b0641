// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/base/result.h"
#include "core/layout/buckets.h"
#include "core/layout/layoutinput.h"

#include <vector>

namespace retro::layout
{

/// A graph of indices whose nodes may sit in a tree of groups.
struct GroupedGraph
{
    Index nodeCount = 0;
    std::vector<LayoutEdge> edges;
    std::vector<Index> nodeGroups;   ///< per node its innermost group, or kNone; empty = no groups
    std::vector<Index> groupParents; ///< per group the group around it, or kNone
};

/// Something that is drawn as one box: a node of the graph, or a closed group.
struct VisibleNode
{
    Index node = kNone;    ///< the node, when it is one
    Index group = kNone;   ///< the closed group, when it is one
    Index part = 0;        ///< a closed group that would feed itself through others is drawn in several parts
    Index partCount = 1;   ///< boxes of the same group
    Index memberCount = 1; ///< nodes behind this box
    Index frame = kNone;   ///< index into VisibleGraph::frames of the innermost open group around it
    [[nodiscard]] bool isGroup() const { return group != kNone; }
};

/// What is left to draw when some groups are closed. Contains no cycle.
struct VisibleGraph
{
    std::vector<VisibleNode> nodes; ///< by their first member
    std::vector<Index> visibleOf;   ///< per node of the graph: its box, kNone when it is hidden
    Buckets members;                ///< per box its nodes, ascending
    std::vector<LayoutEdge>
        edges; ///< between boxes; edges at a closed group are merged, edges of two plain nodes never
    std::vector<Index>
        visibleEdgeOf;   ///< per edge of the graph: its visible edge, kNone inside a closed group or at a hidden node
    Buckets edgeMembers; ///< per visible edge the edges behind it, ascending
    std::vector<Index> frames;       ///< open groups with something visible in them, ascending
    std::vector<Index> frameParents; ///< per frame: index into frames, or kNone
};

/// Replaces every closed group (with all in it) by one box. Where that would make a cycle (a module that is used twice,
/// with something between), the groups on the cycle are cut into as many parts as the order of execution needs. O(nodes
/// + edges log edges). isClosed: one entry per group; isHidden: one entry per node that is left out of the drawing with
/// its edges, or empty. Errors (Input): a cycle in the graph itself, indices out of
/// range, a broken group tree.
[[nodiscard]] base::Result<VisibleGraph> collapse(const GroupedGraph& graph, const std::vector<bool>& isClosed,
                                                  const std::vector<bool>& isHidden = {});

/// The drawing of a visible graph: boxes of the given sizes (one per visible node) and one frame per open group.
[[nodiscard]] LayoutInput layoutInputOf(const VisibleGraph& graph, std::vector<Size> nodeSizes);

} // namespace retro::layout
