// SPDX-License-Identifier: Apache-2.0
#include "core/layout/packing.h"

#include "core/layout/topology.h"

#include <cmath>
#include <limits>
#include <numeric>

namespace retro::layout
{

namespace
{

struct Extent
{
    double left = std::numeric_limits<double>::infinity();
    double right = -std::numeric_limits<double>::infinity();
};

/// Horizontal extent per component, side lanes included.
std::vector<Extent> measureComponents(const Elements& elements, const Ranking& ranking, const std::vector<double>& x)
{
    std::vector<Extent> extents(static_cast<std::size_t>(ranking.componentCount()));
    const auto include = [&](Index component, Index e) {
        extents[component].left = std::min(extents[component].left, x[e] - elements.width[e] / 2);
        extents[component].right = std::max(extents[component].right, x[e] + elements.width[e] / 2);
    };
    for (Index component = 0; component < ranking.componentCount(); ++component) {
        for (Index l = ranking.componentLayer[component]; l < ranking.componentLayer[component + 1]; ++l) {
            include(component, elements.layers[l].front());
            include(component, elements.layers[l].back());
        }
    }
    for (Index s = elements.layeredSegmentCount; s < static_cast<Index>(elements.segments.size()); ++s) {
        const auto [upper, lower] = elements.segments[s];
        if (elements.kind[lower] == ElementKind::SideLane) {
            include(ranking.component[upper], lower);
        }
    }
    return extents;
}

/// Width at which a row is full: that of the widest component, or what gives the whole picture the wanted shape.
double rowWidth(const std::vector<Extent>& extents, const Ranking& ranking, const LayoutOptions& options,
                double layerHeight)
{
    double widest = 0.0;
    double area = 0.0;
    for (Index c = 0; c < ranking.componentCount(); ++c) {
        const double width = extents[c].right - extents[c].left + options.componentGap;
        widest = std::max(widest, width);
        area += width * layerHeight * (ranking.componentLayer[c + 1] - ranking.componentLayer[c]);
    }
    return std::max(widest, std::sqrt(area * options.rowAspect));
}

double typicalLayerHeight(const LayoutInput& input, const LayoutOptions& options)
{
    double sum = 0.0;
    for (const Size& size : input.nodeSizes) {
        sum += size.height;
    }
    return options.layerGap + (input.nodeSizes.empty() ? 0.0 : sum / static_cast<double>(input.nodeSizes.size()));
}

/// Shelves: sets the shift of every component and the picture layer of every layer.
class Shelves
{
public:
    Shelves(const std::vector<Extent>& extents, const Ranking& ranking, const LayoutOptions& options, double fullWidth)
        : m_extents(extents), m_ranking(ranking), m_gap(options.componentGap), m_fullWidth(fullWidth)
    {
        layer.resize(static_cast<std::size_t>(ranking.layerCount()));
        for (Index c = 0; c < ranking.componentCount(); ++c) {
            add(c);
        }
        m_rowStart += m_rowLayers;
    }

    [[nodiscard]] Index layerCount() const { return m_rowStart; }

    std::vector<double> shift; ///< per component
    std::vector<Index> layer;
    double width = 0.0;

private:
    void add(Index c)
    {
        const double own = std::ceil(m_extents[c].right - m_extents[c].left);
        if (m_used > 0 && m_used + own > m_fullWidth) {
            m_rowStart += m_rowLayers;
            m_rowLayers = 0;
            m_used = 0;
        }
        shift.push_back(m_used - m_extents[c].left);
        width = std::max(width, m_used + own);
        m_used += own + m_gap;
        const Index first = m_ranking.componentLayer[c];
        const Index last = m_ranking.componentLayer[c + 1];
        std::iota(layer.begin() + first, layer.begin() + last, m_rowStart);
        m_rowLayers = std::max(m_rowLayers, last - first);
    }

    const std::vector<Extent>& m_extents;
    const Ranking& m_ranking;
    double m_gap;
    double m_fullWidth;
    double m_used = 0.0;
    Index m_rowStart = 0;
    Index m_rowLayers = 0;
};

void shiftElements(const Elements& elements, const Ranking& ranking, const std::vector<double>& shift,
                   std::vector<double>& x)
{
    for (Index component = 0; component < ranking.componentCount(); ++component) {
        for (Index l = ranking.componentLayer[component]; l < ranking.componentLayer[component + 1]; ++l) {
            for (const Index e : elements.layers[l]) {
                x[e] += shift[component];
            }
        }
    }
    for (Index s = elements.layeredSegmentCount; s < static_cast<Index>(elements.segments.size()); ++s) {
        const auto [upper, lower] = elements.segments[s];
        if (elements.kind[lower] == ElementKind::SideLane) {
            x[lower] += shift[ranking.component[upper]];
        }
    }
}

/// Per picture layer: the distance to the layer above it, wider where edges run far sideways.
std::vector<double> measureGaps(const Elements& elements, const LayoutOptions& options, const Packing& packing)
{
    std::vector<double> widest(packing.bands.size(), 0.0);
    for (Index s = 0; s < elements.layeredSegmentCount; ++s) {
        const auto [upper, lower] = elements.segments[s];
        double& most = widest[packing.layer[elements.layer[lower]]];
        most = std::max(most, std::abs(packing.x[upper] - packing.x[lower]));
    }
    const double ceiling = std::max(options.layerGap, options.maxLayerGap);
    for (double& gap : widest) {
        gap = std::min(ceiling, std::ceil(options.layerGap + options.gapSlope * gap));
    }
    return widest;
}

/// Sets the y of every layer.
void stackLayers(const LayoutInput& input, const Elements& elements, const LayoutOptions& options, Packing& packing)
{
    std::vector<double> height(packing.bands.size(), 0.0);
    std::vector<double> before(packing.bands.size(), 0.0);
    std::vector<double> after(packing.bands.size(), 0.0);
    for (Index node = 0; node < elements.nodeCount; ++node) {
        double& most = height[packing.layer[elements.layer[node]]];
        most = std::max(most, std::ceil(input.nodeSizes[node].height));
    }
    const FrameRoom room = measureFrames(elements, options);
    for (std::size_t group = 0; group < elements.borders.size(); ++group) {
        const GroupBorders& borders = elements.borders[group];
        if (borders.layerCount > 0) {
            double& first = before[packing.layer[borders.firstLayer]];
            double& last = after[packing.layer[borders.firstLayer + borders.layerCount - 1]];
            first = std::max(first, room.before[group]);
            last = std::max(last, room.after[group]);
        }
    }
    const std::vector<double> gaps = measureGaps(elements, options, packing);
    double y = 0.0;
    for (std::size_t l = 0; l < packing.bands.size(); ++l) {
        LayerBand& band = packing.bands[l];
        band.entry = l == 0 ? 0.0 : y + gaps[l];
        band.top = band.entry + before[l];
        band.bottom = band.top + height[l];
        y = band.exit = band.bottom + after[l];
    }
    packing.height = y;
}

} // namespace

FrameRoom measureFrames(const Elements& elements, const LayoutOptions& options)
{
    const std::size_t count = elements.borders.size();
    FrameRoom room{std::vector<double>(count, options.groupHeader), std::vector<double>(count, options.groupPadding)};
    // Inner groups first: a frame stands outside the frames that begin or end in the same layer.
    const std::vector<Index> order = outerGroupsFirst(elements.groupParents);
    for (std::size_t i = count; i-- > 0;) {
        const Index group = order[i];
        const Index parent = elements.groupParents[group];
        if (parent == kNone || elements.borders[group].layerCount == 0) {
            continue;
        }
        const GroupBorders& inner = elements.borders[group];
        const GroupBorders& outer = elements.borders[parent];
        if (inner.firstLayer == outer.firstLayer) {
            room.before[parent] = std::max(room.before[parent], room.before[group] + options.groupHeader);
        }
        if (inner.firstLayer + inner.layerCount == outer.firstLayer + outer.layerCount) {
            room.after[parent] = std::max(room.after[parent], room.after[group] + options.groupPadding);
        }
    }
    return room;
}

Packing packComponents(const LayoutInput& input, const Elements& elements, const Ranking& ranking,
                       const LayoutOptions& options, std::vector<double> x)
{
    const std::vector<Extent> extents = measureComponents(elements, ranking, x);
    const Shelves shelves(extents, ranking, options,
                          rowWidth(extents, ranking, options, typicalLayerHeight(input, options)));
    Packing packing;
    packing.x = std::move(x);
    shiftElements(elements, ranking, shelves.shift, packing.x);
    packing.layer = shelves.layer;
    packing.width = shelves.width;
    packing.bands.resize(static_cast<std::size_t>(shelves.layerCount()));
    stackLayers(input, elements, options, packing);
    return packing;
}

} // namespace retro::layout
