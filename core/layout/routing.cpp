// SPDX-License-Identifier: Apache-2.0
#include "core/layout/routing.h"

#include "core/layout/polyline.h"
#include "core/layout/ports.h"

namespace retro::layout
{

namespace
{

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

} // namespace

Polylines routeEdges(const LayoutInput& input, const Elements& elements, const Packing& packing,
                     const LayoutOptions& options)
{
    return Router(input, elements, packing, options).run();
}

} // namespace retro::layout
