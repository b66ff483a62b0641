// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/layout/geometry.h"

#include <cstdint>
#include <limits>
#include <vector>

namespace retro::layout
{

/// A directed edge between two nodes, by index. Parallel edges are allowed, a node that feeds itself is not.
struct LayoutEdge
{
    Index from = kNone;
    Index to = kNone;
    bool operator==(const LayoutEdge&) const = default;
};

/// A box that only marks where edges come in or go out, when what is drawn is a piece of a larger picture.
enum class Pin : std::uint8_t {
    None,  ///< an ordinary box
    First, ///< in a layer above all others; nothing may enter it
    Last,  ///< in a layer below all others; nothing may leave it
};

/// Where an edge must touch its boxes: distance from the middle of the box, to the right; kFree = wherever it looks
/// best.
struct EdgePins
{
    static constexpr double kFree = std::numeric_limits<double>::infinity();
    double leave = kFree;
    double enter = kFree;
    bool operator==(const EdgePins&) const = default;
};

/// What is drawn: boxes of known size, edges, and (optional) frames around open groups.
struct LayoutInput
{
    std::vector<Size> nodeSizes; ///< per node, both extents ≥ 0 and finite
    std::vector<LayoutEdge> edges;
    /// Per node the innermost open group that holds it, or kNone. Empty when there are no frames to draw.
    std::vector<Index> nodeGroups;
    /// Per open group the open group around it, or kNone. A group without nodes gets an empty frame.
    std::vector<Index> groupParents;
    std::vector<Pin> pins{};          ///< per node, or empty
    std::vector<EdgePins> edgePins{}; ///< per edge, or empty

    /// What a node marks; None when there are no pins.
    [[nodiscard]] Pin pinOf(Index node) const { return pins.empty() ? Pin::None : pins[node]; }
    /// Where an edge must touch its boxes; free when nothing is said.
    [[nodiscard]] EdgePins pinsOf(Index edge) const { return edgePins.empty() ? EdgePins() : edgePins[edge]; }
};

/// Distances in scene units, and limits.
struct LayoutOptions
{
    double nodeGap = 24;      ///< least distance of two boxes side by side
    double laneGap = 16;      ///< least distance of a passing edge from a box or another edge
    double layerGap = 22;     ///< least distance of two layers
    double gapSlope = 0.08;   ///< a gap grows by this share of the widest slanted edge in it …
    double maxLayerGap = 56;  ///< … up to this distance
    double portGap = 10;      ///< distance of neighbouring edge ends on one side of a box
    double parallelGap = 6;   ///< distance of two edges between the same two nodes
    double componentGap = 48; ///< distance of parts of the graph that are not connected
    double rowAspect = 1.6;   ///< unconnected parts fill rows towards this width : height
    double groupPadding = 12; ///< free space between a frame and what it holds
    double groupHeader = 24;  ///< room for the title at the top of a frame
    Index maxLaneSpan = 64;   ///< an edge over more layers leaves the layers and runs in one lane at the side
    int sweeps = 8;           ///< most rounds of crossing reduction
    bool lanesFirst = false;  ///< edges pass boxes on their left where nothing speaks against it, else on their right
};

} // namespace retro::layout
