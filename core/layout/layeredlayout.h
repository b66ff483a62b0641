// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/layout/geometry.h"

#include <cstdint>
#include <span>
#include <vector>

namespace retro::layout
{

/// Layers from the source to the target of an edge.
struct LayerSpan
{
    Index first = 0;
    Index last = 0;
};

/// Finds the edges that touch a range of layers. Edges of similar span are kept together, sorted by their first layer,
/// so that a query reads few edges that it does not return. Memory O(edges), query O(classes · log edges + read), at
/// most 32 classes.
class EdgeIndex
{
public:
    EdgeIndex() = default;
    EdgeIndex(const std::vector<LayerSpan>& spans, Index layerCount);

    /// Appends the edges with first ≤ lastLayer and last ≥ firstLayer, in an order that depends on the graph alone.
    void find(Index firstLayer, Index lastLayer, std::vector<Index>& out) const;

private:
    struct Entry
    {
        LayerSpan span;
        Index edge = kNone;
    };
    std::vector<Entry> m_entries;    // by class, then first layer, then edge
    std::vector<Index> m_classStart; // class c holds spans of [2^c, 2^(c+1)) layers; one more entry: the end
};

/// A layer of the picture. Its boxes lie between top and bottom and are layerNodes[firstNode .. firstNode + nodeCount).
struct Layer
{
    double top = 0.0;
    double bottom = 0.0;
    Index firstNode = 0;
    Index nodeCount = 0;
};

/// A range of layers [first, last); empty when first == last.
struct LayerRange
{
    Index first = 0;
    Index last = 0;
    bool operator==(const LayerRange&) const = default;
};

/// A finished drawing: inputs on top, every edge runs downwards, boxes do not overlap, edges do not pass through boxes.
/// Plain data, immutable once made, to be shared between threads as std::shared_ptr<const LayeredLayout>. All
/// coordinates in scene units, the picture starts at (0, 0). Queries append to `out` without clearing it, so that
/// painting allocates nothing.
struct LayeredLayout
{
    std::vector<Rect> nodes;             ///< per node
    std::vector<Index> nodeLayers;       ///< per node: index into layers
    std::vector<Layer> layers;           ///< top to bottom, both sides rising; disjoint in y but for groups that were
                                         ///< stamped beside others; a layer may have no boxes
    std::vector<Index> layerNodes;       ///< nodes by layer, left to right
    std::vector<Index> edgePointOffsets; ///< edge e has edgePoints[edgePointOffsets[e] .. edgePointOffsets[e + 1])
    std::vector<Point> edgePoints;       ///< from the source's bottom to the target's top
    std::vector<LayerSpan> edgeSpans;    ///< per edge
    EdgeIndex edgeIndex;
    std::vector<Rect> groups; ///< per open group its frame; empty (width 0) for a group without nodes
    Rect bounds;              ///< of everything; edges and frames included

    /// Points of an edge, from the source to the target.
    [[nodiscard]] std::span<const Point> edge(Index e) const
    {
        return std::span(edgePoints)
            .subspan(static_cast<std::size_t>(edgePointOffsets[e]),
                     static_cast<std::size_t>(edgePointOffsets[e + 1] - edgePointOffsets[e]));
    }
    /// Nodes of a layer, from left to right.
    [[nodiscard]] std::span<const Index> nodesOf(const Layer& layer) const
    {
        return std::span(layerNodes)
            .subspan(static_cast<std::size_t>(layer.firstNode), static_cast<std::size_t>(layer.nodeCount));
    }

    /// Layers whose boxes may touch y in [top, bottom]. O(log layers).
    [[nodiscard]] LayerRange layersBetween(double top, double bottom) const;
    /// Nodes whose box intersects the rectangle, by layer, left to right. O(log layers + layers in it · log width +
    /// hits).
    void nodesIn(const Rect& area, std::vector<Index>& out) const;
    /// The node under a point, or kNone. O(log layers + log width).
    [[nodiscard]] Index nodeAt(Point point) const;
    /// Edges that run in or past the layers [range.first, range.last).
    void edgesOfLayers(LayerRange range, std::vector<Index>& out) const;
    /// Edges that may be visible in the rectangle: those with a piece whose bounding box intersects it.
    void edgesIn(const Rect& area, std::vector<Index>& out) const;
    /// The edge nearest to a point, at most `tolerance` away, or kNone; of several, the one found first.
    [[nodiscard]] Index edgeAt(Point point, double tolerance) const;
    /// The innermost open group whose frame holds a point, or kNone.
    [[nodiscard]] Index groupAt(Point point) const;
};

} // namespace retro::layout
