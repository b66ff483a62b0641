// SPDX-License-Identifier: Apache-2.0
#include "core/layout/levelofdetail.h"

namespace retro::layout
{

namespace
{

void include(const LayeredLayout& layout, const Layer& layer, DensityRow& row)
{
    const auto nodes = layout.nodesOf(layer);
    if (nodes.empty()) {
        return;
    }
    const double left = layout.nodes[nodes.front()].x;
    const double right = layout.nodes[nodes.back()].right();
    row.left = row.nodeCount == 0 ? left : std::min(row.left, left);
    row.right = row.nodeCount == 0 ? right : std::max(row.right, right);
    row.nodeCount += static_cast<Index>(nodes.size());
}

} // namespace

std::vector<DensityRow> densityRows(const LayeredLayout& layout, const Rect& area, int rows)
{
    std::vector<DensityRow> out(static_cast<std::size_t>(std::max(rows, 0)));
    const double height = area.height / std::max(rows, 1);
    for (std::size_t i = 0; i < out.size(); ++i) {
        const double top = area.y + height * static_cast<double>(i);
        const LayerRange range = layout.layersBetween(top, top + height);
        out[i].firstLayer = range.first;
        out[i].lastLayer = range.last;
        for (Index l = range.first; l < range.last; ++l) {
            include(layout, layout.layers[l], out[i]);
        }
    }
    return out;
}

} // namespace retro::layout
