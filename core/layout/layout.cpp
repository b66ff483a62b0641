// SPDX-License-Identifier: Apache-2.0
#include "core/layout/layout.h"

#include "core/layout/elements.h"
#include "core/layout/ordering.h"
#include "core/layout/packing.h"
#include "core/layout/placement.h"
#include "core/layout/ranking.h"
#include "core/layout/routing.h"

#include <fmt/format.h>

#include <cmath>

namespace retro::layout
{

namespace
{

base::Result<void> checkSizes(const LayoutInput& input)
{
    for (std::size_t node = 0; node < input.nodeSizes.size(); ++node) {
        const auto [width, height] = input.nodeSizes[node];
        if (!(std::isfinite(width) && std::isfinite(height) && width >= 0 && height >= 0)) {
            return base::inputError(
                fmt::format("has the size {} × {}; both extents must be finite and not negative", width, height),
                fmt::format("node {}", node));
        }
    }
    return {};
}

void setNodes(const LayoutInput& input, const Elements& elements, const Packing& packing, LayeredLayout& out)
{
    for (Index node = 0; node < elements.nodeCount; ++node) {
        const Size& size = input.nodeSizes[node];
        const Index layer = packing.layer[elements.layer[node]];
        const LayerBand& band = packing.bands[layer];
        out.nodes.push_back(
            {packing.x[node] - size.width / 2, (band.top + band.bottom - size.height) / 2, size.width, size.height});
        out.nodeLayers.push_back(layer);
    }
}

/// Layers of components that share a row come one after the other in `elements`, left component first: so x stays
/// sorted.
void setLayers(const Elements& elements, const Packing& packing, LayeredLayout& out)
{
    std::vector<Index> nodesByLayer;
    for (const Index e : elements.layers.items) {
        if (e < elements.nodeCount) {
            nodesByLayer.push_back(e);
        }
    }
    const Buckets layers = groupBy(elements.nodeCount, static_cast<Index>(packing.bands.size()),
                                   [&](Index i) { return out.nodeLayers[nodesByLayer[i]]; });
    for (const Index i : layers.items) {
        out.layerNodes.push_back(nodesByLayer[i]);
    }
    for (Index l = 0; l < layers.count(); ++l) {
        out.layers.push_back({packing.bands[l].top, packing.bands[l].bottom, layers.offsets[l], layers.size(l)});
    }
}

void setEdges(const LayoutInput& input, Polylines lines, LayeredLayout& out)
{
    out.edgePointOffsets = std::move(lines.offsets);
    out.edgePoints = std::move(lines.points);
    for (const LayoutEdge& edge : input.edges) {
        out.edgeSpans.push_back({out.nodeLayers[edge.from], out.nodeLayers[edge.to]});
    }
    out.edgeIndex = EdgeIndex(out.edgeSpans, static_cast<Index>(out.layers.size()));
}

void setFrames(const Elements& elements, const Packing& packing, const LayoutOptions& options, LayeredLayout& out)
{
    const FrameRoom room = measureFrames(elements, options);
    for (std::size_t group = 0; group < elements.borders.size(); ++group) {
        const GroupBorders& borders = elements.borders[group];
        if (borders.layerCount == 0) {
            out.groups.push_back({});
            continue;
        }
        const double left = packing.x[borders.firstLeft];
        const double top = packing.bands[packing.layer[borders.firstLayer]].top - room.before[group];
        const Index last = packing.layer[borders.firstLayer + borders.layerCount - 1];
        const double bottom = packing.bands[last].bottom + room.after[group];
        out.groups.push_back({left, top, packing.x[borders.firstRight] - left, bottom - top});
    }
}

base::Error stopped() { return {base::ErrorCode::Cancelled, "the layout was stopped", {}}; }

} // namespace

base::Result<LayeredLayout> computeLayout(const LayoutInput& input, const LayoutOptions& options,
                                          const std::stop_token& stop)
{
    RETRO_CHECK(checkSizes(input));
    RETRO_TRY(const Ranking ranking, rankNodes(input));
    Elements elements = buildElements(input, ranking, options);
    if (stop.stop_requested() || !orderLayers(elements, options, stop)) {
        return stopped();
    }
    std::vector<double> x = placeElements(elements, ranking, options, stop);
    if (stop.stop_requested()) {
        return stopped();
    }
    const Packing packing = packComponents(input, elements, ranking, options, std::move(x));
    LayeredLayout out;
    setNodes(input, elements, packing, out);
    setLayers(elements, packing, out);
    setEdges(input, routeEdges(input, elements, packing, options), out);
    setFrames(elements, packing, options, out);
    out.bounds = {0.0, 0.0, packing.width, packing.height};
    return out;
}

} // namespace retro::layout
