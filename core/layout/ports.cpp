// SPDX-License-Identifier: Apache-2.0
#include "core/layout/ports.h"

#include <cmath>

namespace retro::layout
{

namespace
{

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

} // namespace

Ports placePorts(const Elements& elements, const std::vector<double>& x, const LayoutOptions& options)
{
    Ports ports;
    PortPlacer placer(elements, x, options);
    placer.place(&Segment::upper, &Segment::lower, ports.leave);
    placer.place(&Segment::lower, &Segment::upper, ports.enter);
    return ports;
}

} // namespace retro::layout
