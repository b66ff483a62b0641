// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/layout/buckets.h"
#include "core/layout/layoutinput.h"
#include "core/layout/ranking.h"

#include <cstdint>
#include <vector>

namespace retro::layout
{

/// What takes up room in a layer.
enum class ElementKind : std::uint8_t {
    Node,     ///< a box; element index = node index
    Lane,     ///< a long edge that passes the layer; one lane serves all long edges of its source
    SideLane, ///< a very long edge beside all layers; in no layer
    Border,   ///< left or right side of a group's frame
};

/// A piece of an edge between two elements; for elements in layers always from one layer to the next.
struct Segment
{
    Index upper = kNone;
    Index lower = kNone;
};

/// The way of an input edge through the elements.
struct EdgeRoute
{
    Index firstSegment = kNone; ///< leaves the source
    Index lastSegment = kNone;  ///< enters the target; the same one when no lane lies between
    Index firstLane = kNone;    ///< lanes are consecutive elements; kNone = direct
    Index laneCount = 0;
    Index parallelIndex = 0; ///< among the edges between the same two nodes
    Index parallelCount = 1;
};

/// Left and right border elements of a group, top layer first.
struct GroupBorders
{
    Index firstLayer = 0; ///< layer of left[0]; an empty group has layerCount 0
    Index layerCount = 0;
    Index firstLeft = kNone; ///< element indices are consecutive
    Index firstRight = kNone;
};

/// The layered graph with every long edge cut at each layer. Everything that decides about positions works on this.
struct Elements
{
    Index nodeCount = 0;
    std::vector<ElementKind> kind;
    std::vector<Index> layer; ///< kNone for side lanes
    std::vector<double> width;
    std::vector<Index> group; ///< innermost open group, or kNone; a border belongs to the group that it bounds
    std::vector<Segment> segments;
    Index layeredSegmentCount = 0; ///< segments behind these touch a side lane and take no part in ordering
    Buckets down;                  ///< per element: layered segments to the next layer
    Buckets up;                    ///< per element: layered segments from the layer before
    Buckets layers;                ///< per layer: its elements from left to right
    std::vector<Index> position;   ///< per element: place in its layer
    std::vector<EdgeRoute> routes; ///< per edge
    std::vector<GroupBorders> borders;
    std::vector<Index> groupParents;

    [[nodiscard]] Index count() const { return static_cast<Index>(kind.size()); }
    [[nodiscard]] Index layerCount() const { return layers.count(); }
    /// The elements of a layer, to be permuted; call updatePositions afterwards.
    [[nodiscard]] std::span<Index> layerElements(Index l)
    {
        return std::span(layers.items)
            .subspan(static_cast<std::size_t>(layers.offsets[l]), static_cast<std::size_t>(layers.size(l)));
    }
    /// Makes `position` follow the present order of a layer.
    void updatePositions(Index l)
    {
        Index next = 0;
        for (const Index e : layers[l]) {
            position[e] = next++;
        }
    }
};

/// Cuts the edges. The number of lanes stays linear: a source has at most options.maxLaneSpan of them, and that limit
/// is halved until all lanes together are few per node. Elements of a layer start in index order.
[[nodiscard]] Elements buildElements(const LayoutInput& input, const Ranking& ranking, const LayoutOptions& options);

} // namespace retro::layout
