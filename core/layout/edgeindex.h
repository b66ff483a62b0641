// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/layout/geometry.h"

#include <cstdint>
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

} // namespace retro::layout
