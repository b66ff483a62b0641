// SPDX-License-Identifier: Apache-2.0
#include "core/layout/layout.h"

#include "core/layout/elements.h"
#include "core/layout/ordering.h"
#include "core/layout/placement.h"
#include "core/layout/polyline.h"
#include "core/layout/ranking.h"
#include "core/layout/topology.h"

#include <fmt/format.h>

#include <cmath>
#include <limits>
#include <numeric>
#include <vector>

namespace retro::layout
{

namespace
{

/// A layer of the picture, from top to bottom: edges bend between the exit of one layer and the entry of the next.
struct LayerBand
{
    double entry = 0.0;  ///< frames that begin here have their title between entry and top
    double top = 0.0;    ///< boxes are centred between top …
    double bottom = 0.0; ///< … and bottom
    double exit = 0.0;   ///< frames that end here have their padding between bottom and exit
};

/// Where the components stand and where the layers are. Components fill rows; those of one row share their layers.
struct Packing
{
    std::vector<double> x;        ///< per element: centre, final
    std::vector<Index> layer;     ///< per layer of the elements: layer of the picture
    std::vector<LayerBand> bands; ///< per layer of the picture, top to bottom
    double width = 0.0;
    double height = 0.0;
};

/// How much room the frame of each group needs above its first layer (`before`) and below its last (`after`).
struct FrameRoom
{
    std::vector<double> before;
    std::vector<double> after;
};
/// The room of every group under these options.
[[nodiscard]] FrameRoom measureFrames(const Elements& elements, const LayoutOptions& options);

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

/// Packs components in their order, row by row, and gives every layer its height; the picture starts at (0, 0).
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

/// Edges as polylines in two flat arrays: edge e has the points [offsets[e], offsets[e + 1]).
struct Polylines
{
    std::vector<Index> offsets;
    std::vector<Point> points;
};

/// Where segments touch boxes. Entries of segments that do not end in a box there are the x of the lane.
struct Ports
{
    std::vector<double> leave; ///< per segment: x at its upper end
    std::vector<double> enter; ///< per segment: x at its lower end
};

constexpr double kStraight = 0.5; // centres are whole numbers: nearer than this is equal

class PortPlacer
{
public:
    PortPlacer(const Elements& elements, const std::vector<double>& x, const LayoutOptions& options)
        : m_elements(elements), m_x(x), m_options(options)
    {}

    /// Fills ports (per segment) for the ends that `own` names.
    void place(Index Segment::*own, Index Segment::*far, std::vector<double>& ports)
    {
        const auto segments = static_cast<Index>(m_elements.segments.size());
        for (Index s = 0; s < segments; ++s) {
            ports.push_back(m_x[m_elements.segments[s].*own]);
        }
        const Buckets byNode = groupBy(segments, m_elements.nodeCount, [&](Index s) {
            const Index e = m_elements.segments[s].*own;
            return e < m_elements.nodeCount ? e : kNone;
        });
        for (Index node = 0; node < m_elements.nodeCount; ++node) {
            placeOn(node, byNode[node], far, ports);
        }
    }

private:
    /// A segment end beside the centre line of its box.
    struct End
    {
        double away = 0.0;   ///< distance of the far end from the centre line
        double wanted = 0.0; ///< wished distance of this end from the centre line
        Index segment = kNone;
    };

    void placeOn(Index node, std::span<const Index> segments, Index Segment::*far, std::vector<double>& ports)
    {
        m_left.clear();
        m_right.clear();
        for (const Index s : segments) {
            const Index other = m_elements.segments[s].*far;
            const bool isBox = m_elements.kind[other] == ElementKind::Node;
            const double away = m_x[other] - m_x[node];
            if (std::abs(away) < kStraight || (isBox && segments.size() == 1)) {
                continue;
            }
            (away < 0 ? m_left : m_right).push_back({std::abs(away), isBox ? std::abs(away) / 2 : std::abs(away), s});
        }
        const double reach = m_elements.width[node] / 2 * 0.85;
        if (segments.size() == 1) {
            placeSingle(node, reach, ports);
            return;
        }
        spread(m_left, reach, m_x[node], -1.0, ports);
        spread(m_right, reach, m_x[node], 1.0, ports);
    }

    void placeSingle(Index node, double reach, std::vector<double>& ports)
    {
        for (const auto* ends : {&m_left, &m_right}) {
            if (!ends->empty() && ends->front().away <= reach) {
                ports[ends->front().segment] = m_x[node] + (ends == &m_left ? -1.0 : 1.0) * ends->front().away;
            }
        }
    }

    void spread(std::vector<End>& ends, double reach, double centre, double side, std::vector<double>& ports) const
    {
        std::sort(ends.begin(), ends.end(), [](const End& a, const End& b) {
            return a.away < b.away || (a.away == b.away && a.segment < b.segment);
        });
        const double step = std::min(m_options.portGap, reach / static_cast<double>(ends.size()));
        for (std::size_t i = 0; i < ends.size(); ++i) {
            const double least = step * static_cast<double>(i + 1);
            const double most = reach - step * static_cast<double>(ends.size() - 1 - i);
            ports[ends[i].segment] = centre + side * std::max(least, std::min(ends[i].wanted, most));
        }
    }

    const Elements& m_elements;
    const std::vector<double>& m_x;
    const LayoutOptions& m_options;
    std::vector<End> m_left;
    std::vector<End> m_right;
};

/// Spreads the ends of segments along the sides of each box, in the order of where they come from: a segment to an
/// element straight above or below keeps the centre, the others stand to its left and right at options.portGap (less
/// when they are many). A single segment keeps the centre, unless its lane passes over the box: then it stays vertical.
Ports placePorts(const Elements& elements, const std::vector<double>& x, const LayoutOptions& options)
{
    Ports ports;
    PortPlacer placer(elements, x, options);
    placer.place(&Segment::upper, &Segment::lower, ports.leave);
    placer.place(&Segment::lower, &Segment::upper, ports.enter);
    return ports;
}

class Router
{
public:
    Router(const LayoutInput& input, const Elements& elements, const Packing& packing, const LayoutOptions& options)
        : m_input(input), m_elements(elements), m_packing(packing), m_options(options),
          m_ports(placePorts(elements, packing.x, options))
    {
        m_out.offsets.push_back(0);
    }

    Polylines run()
    {
        m_out.offsets.reserve(m_input.edges.size() + 1);
        m_out.points.reserve(m_input.edges.size() * 4);
        for (std::size_t edge = 0; edge < m_input.edges.size(); ++edge) {
            route(m_input.edges[edge], m_elements.routes[edge], m_input.pinsOf(static_cast<Index>(edge)));
            m_out.offsets.push_back(static_cast<Index>(m_out.points.size()));
        }
        return std::move(m_out);
    }

private:
    [[nodiscard]] const LayerBand& bandOf(Index element) const
    {
        return m_packing.bands[m_packing.layer[m_elements.layer[element]]];
    }

    void route(const LayoutEdge& edge, const EdgeRoute& route, const EdgePins& pins)
    {
        m_shift = parallelShift(edge, route);
        const LayerBand& source = bandOf(edge.from);
        const LayerBand& target = bandOf(edge.to);
        const double leave = onBox(edge.from, pins.leave, m_ports.leave[route.firstSegment]);
        const double enter = onBox(edge.to, pins.enter, m_ports.enter[route.lastSegment]);
        add(leave, (source.top + source.bottom + m_input.nodeSizes[edge.from].height) / 2);
        add(leave, source.exit);
        addLanes(edge, route);
        add(enter, target.entry);
        add(enter, (target.top + target.bottom - m_input.nodeSizes[edge.to].height) / 2);
    }

    /// Place of an edge end: where it must be, else its port, moved for parallel edges, not past the corners of the
    /// box.
    [[nodiscard]] double onBox(Index node, double pin, double port) const
    {
        if (pin != EdgePins::kFree) {
            return m_packing.x[node] + pin;
        }
        const double half = m_input.nodeSizes[node].width / 2;
        return std::clamp(port + m_shift, m_packing.x[node] - half, m_packing.x[node] + half);
    }

    void addLanes(const LayoutEdge& edge, const EdgeRoute& route)
    {
        if (route.laneCount > 0 && m_elements.kind[route.firstLane] == ElementKind::SideLane) {
            const Index first = m_packing.layer[m_elements.layer[edge.from]] + 1;
            const Index last = m_packing.layer[m_elements.layer[edge.to]] - 1;
            add(m_packing.x[route.firstLane] + m_shift, m_packing.bands[first].entry);
            add(m_packing.x[route.firstLane] + m_shift, m_packing.bands[last].exit);
            return;
        }
        for (Index lane = route.firstLane; lane < route.firstLane + route.laneCount; ++lane) {
            add(m_packing.x[lane] + m_shift, bandOf(lane).entry);
            add(m_packing.x[lane] + m_shift, bandOf(lane).exit);
        }
    }

    /// Parallel edges run side by side.
    [[nodiscard]] double parallelShift(const LayoutEdge& edge, const EdgeRoute& route) const
    {
        const double room = std::min(m_input.nodeSizes[edge.from].width, m_input.nodeSizes[edge.to].width);
        const double step = std::min(m_options.parallelGap, room / (route.parallelCount + 1));
        return step * (route.parallelIndex - (route.parallelCount - 1) / 2.0);
    }

    void add(double x, double y) { appendPoint(m_out.points, static_cast<std::size_t>(m_out.offsets.back()), {x, y}); }

    const LayoutInput& m_input;
    const Elements& m_elements;
    const Packing& m_packing;
    const LayoutOptions& m_options;
    Ports m_ports;
    Polylines m_out;
    double m_shift = 0.0;
};

/// Draws every edge from the bottom of its source to the top of its target. An edge is vertical wherever boxes are and
/// bends only between layers, so it cannot pass through a box. Ends on one side of a box are spread, a straight one
/// keeps the centre.
Polylines routeEdges(const LayoutInput& input, const Elements& elements, const Packing& packing,
                     const LayoutOptions& options)
{
    return Router(input, elements, packing, options).run();
}

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
