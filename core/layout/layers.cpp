// SPDX-License-Identifier: Apache-2.0
#include "core/layout/layers.h"

#include <algorithm>
#include <numeric>
#include <tuple>

namespace retro::layout
{

void indexLayers(const LayoutInput& input, LayeredLayout& layout)
{
    const std::vector<Rect>& nodes = layout.nodes;
    layout.layerNodes.resize(nodes.size());
    std::iota(layout.layerNodes.begin(), layout.layerNodes.end(), 0);
    const auto key = [&](Index node) { return std::tuple(nodes[node].y, nodes[node].bottom(), nodes[node].x, node); };
    std::sort(layout.layerNodes.begin(), layout.layerNodes.end(), [&](Index a, Index b) { return key(a) < key(b); });
    layout.layers.clear();
    layout.nodeLayers.resize(nodes.size());
    const Rect* first = nullptr; // box that began the layer
    for (std::size_t i = 0; i < nodes.size(); ++i) {
        const Index node = layout.layerNodes[i];
        const Rect& box = nodes[node];
        if (first == nullptr || box.y != first->y || box.bottom() != first->bottom()) {
            const double least = layout.layers.empty() ? box.bottom() : layout.layers.back().bottom;
            layout.layers.push_back({box.y, std::max(box.bottom(), least), static_cast<Index>(i), 0});
            first = &box;
        }
        ++layout.layers.back().nodeCount;
        layout.nodeLayers[node] = static_cast<Index>(layout.layers.size()) - 1;
    }
    layout.edgeSpans.clear();
    for (const LayoutEdge& edge : input.edges) {
        layout.edgeSpans.push_back({layout.nodeLayers[edge.from], layout.nodeLayers[edge.to]});
    }
    layout.edgeIndex = EdgeIndex(layout.edgeSpans, static_cast<Index>(layout.layers.size()));
}

} // namespace retro::layout
