// SPDX-License-Identifier: Apache-2.0
#include "core/layout/elements.h"

#include <tuple>

namespace retro::layout
{

namespace
{

constexpr Index kLanesPerNode = 8;
constexpr Index kFreeLanes = 4096;
constexpr Index kLeastSpan = 4;

/// Adds segments and lanes to an Elements, one source after the other.
class Builder
{
public:
    Builder(const LayoutInput& input, const Ranking& ranking, double parallelGap, Elements& out)
        : m_input(input), m_ranking(ranking), m_parallelGap(parallelGap), m_out(out),
          m_leaving(groupBy(static_cast<Index>(input.edges.size()), out.nodeCount,
                            [&](Index edge) { return input.edges[edge].from; }))
    {
        m_out.routes.resize(input.edges.size());
    }

    /// The largest span ≤ `most` whose lanes stay within the budget.
    [[nodiscard]] Index affordableSpan(Index most) const
    {
        const Index budget = kFreeLanes + kLanesPerNode * m_out.nodeCount;
        while (most > kLeastSpan && laneCount(most) > budget) {
            most /= 2;
        }
        return most;
    }

    void addSource(Index node, Index maxSpan)
    {
        sortLeaving(node);
        m_firstLane = m_out.count();
        m_firstLaneSegment = kNone;
        for (std::size_t i = 0; i < m_sorted.size(); ++i) {
            const Index edge = m_sorted[i];
            if (i > 0 && leave(m_sorted[i - 1]) != leave(edge)) { // another place on the box: lanes of its own
                m_firstLane = m_out.count();
                m_firstLaneSegment = kNone;
            }
            if (i > 0 && areParallel(m_sorted[i - 1], edge)) {
                addParallel(m_sorted[i - 1], edge);
            } else if (span(edge) == 1) {
                addDirect(edge);
            } else if (span(edge) <= maxSpan) {
                addLaned(edge);
            } else {
                m_distant.push_back(edge);
            }
        }
        countParallel();
    }

    /// Side lanes come last, so that the layered segments are one range.
    void addSideLanes()
    {
        Index source = kNone;
        Index before = kNone;
        Index firstSegment = kNone;
        for (const Index edge : m_distant) {
            if (m_input.edges[edge].from != source || leave(edge) != leave(before)) {
                source = m_input.edges[edge].from;
                addElement(ElementKind::SideLane, kNone, kNone);
                firstSegment = addSegment(source, m_out.count() - 1);
            }
            before = edge;
            EdgeRoute& route = m_out.routes[edge];
            route.firstSegment = firstSegment;
            route.firstLane = m_out.count() - 1;
            route.laneCount = 1;
            route.lastSegment = addSegment(route.firstLane, m_input.edges[edge].to);
        }
        copyToParallels();
    }

private:
    [[nodiscard]] Index span(Index edge) const
    {
        return m_ranking.layer[m_input.edges[edge].to] - m_ranking.layer[m_input.edges[edge].from];
    }

    [[nodiscard]] double leave(Index edge) const { return m_input.pinsOf(edge).leave; }

    [[nodiscard]] bool areParallel(Index a, Index b) const
    {
        return m_input.edges[a].to == m_input.edges[b].to && m_input.pinsOf(a) == m_input.pinsOf(b);
    }

    [[nodiscard]] Index laneCount(Index maxSpan) const
    {
        Index total = 0;
        for (Index node = 0; node < m_out.nodeCount; ++node) {
            Index longest = 1;
            for (const Index edge : m_leaving[node]) {
                if (span(edge) <= maxSpan) {
                    longest = std::max(longest, span(edge));
                }
            }
            total += longest - 1;
        }
        return total;
    }

    /// Leaving edges of one place on the box together, nearest target first, parallel ones together.
    void sortLeaving(Index node)
    {
        const auto leaving = m_leaving[node];
        m_sorted.assign(leaving.begin(), leaving.end());
        const auto key = [&](Index edge) {
            return std::tuple(leave(edge), span(edge), m_input.edges[edge].to, m_input.pinsOf(edge).enter);
        };
        std::stable_sort(m_sorted.begin(), m_sorted.end(), [&](Index a, Index b) { return key(a) < key(b); });
    }

    Index addSegment(Index upper, Index lower)
    {
        m_out.segments.push_back({upper, lower});
        return static_cast<Index>(m_out.segments.size()) - 1;
    }

    void addElement(ElementKind kind, Index layer, Index group)
    {
        m_out.kind.push_back(kind);
        m_out.layer.push_back(layer);
        m_out.width.push_back(0.0);
        m_out.group.push_back(group);
    }

    void addDirect(Index edge)
    {
        const auto [from, to] = m_input.edges[edge];
        EdgeRoute& route = m_out.routes[edge];
        route.firstSegment = route.lastSegment = addSegment(from, to);
    }

    /// Lengthens the lane of the source until it reaches the layer above the target.
    void addLaned(Index edge)
    {
        const auto [from, to] = m_input.edges[edge];
        const Index lanes = span(edge) - 1;
        while (m_out.count() - m_firstLane < lanes) {
            const Index before = m_out.count() == m_firstLane ? from : m_out.count() - 1;
            addElement(ElementKind::Lane, m_out.layer[before] + 1, m_out.group[from]);
            const Index segment = addSegment(before, m_out.count() - 1);
            m_firstLaneSegment = before == from ? segment : m_firstLaneSegment;
        }
        narrowGroup(to, lanes);
        EdgeRoute& route = m_out.routes[edge];
        route.firstSegment = m_firstLaneSegment;
        route.firstLane = m_firstLane;
        route.laneCount = lanes;
        route.lastSegment = addSegment(m_firstLane + lanes - 1, to);
    }

    [[nodiscard]] bool isInside(Index group, Index outer) const
    {
        while (group != kNone && group != outer) {
            group = m_input.groupParents[group];
        }
        return group == outer;
    }

    /// A lane runs inside the frames that hold both ends of one of its edges, outside all others.
    void narrowGroup(Index target, Index lanes)
    {
        for (Index lane = m_firstLane; lane < m_firstLane + lanes; ++lane) {
            Index& group = m_out.group[lane];
            while (group != kNone && !isInside(m_out.group[target], group)) {
                group = m_input.groupParents[group];
            }
        }
    }

    void addParallel(Index twin, Index edge)
    {
        m_out.routes[edge].parallelIndex = m_out.routes[twin].parallelIndex + 1;
        m_parallels.push_back({twin, edge});
    }

    void countParallel()
    {
        for (std::size_t i = m_sorted.size(); i-- > 0;) {
            EdgeRoute& route = m_out.routes[m_sorted[i]];
            const bool isLast = i + 1 == m_sorted.size() || m_out.routes[m_sorted[i + 1]].parallelIndex == 0;
            route.parallelCount = isLast ? route.parallelIndex + 1 : m_out.routes[m_sorted[i + 1]].parallelCount;
        }
    }

    void copyToParallels()
    {
        for (const auto& [twin, edge] : m_parallels) {
            EdgeRoute& route = m_out.routes[edge];
            const Index index = route.parallelIndex;
            route = m_out.routes[twin];
            route.parallelIndex = index;
            for (Index lane = route.firstLane; lane < route.firstLane + route.laneCount; ++lane) {
                m_out.width[lane] = std::max(m_out.width[lane], (route.parallelCount - 1) * m_parallelGap);
            }
        }
    }

    const LayoutInput& m_input;
    const Ranking& m_ranking;
    double m_parallelGap;
    Elements& m_out;
    Buckets m_leaving;
    std::vector<Index> m_sorted;
    std::vector<Index> m_distant;
    std::vector<std::pair<Index, Index>> m_parallels;
    Index m_firstLane = 0;
    Index m_firstLaneSegment = kNone;
};

/// Layers that each group covers, from its nodes and the groups in it.
void findGroupLayers(const LayoutInput& input, const Elements& out, std::vector<GroupBorders>& borders)
{
    borders.resize(input.groupParents.size());
    for (Index node = 0; node < static_cast<Index>(input.nodeGroups.size()); ++node) {
        for (Index group = input.nodeGroups[node]; group != kNone; group = input.groupParents[group]) {
            GroupBorders& b = borders[group];
            const Index layer = out.layer[node];
            const Index last = b.layerCount == 0 ? layer : std::max(layer, b.firstLayer + b.layerCount - 1);
            b.firstLayer = b.layerCount == 0 ? layer : std::min(layer, b.firstLayer);
            b.layerCount = last - b.firstLayer + 1;
        }
    }
}

Index addBorderChain(Elements& out, Index group)
{
    const Index first = out.count();
    const GroupBorders& b = out.borders[group];
    for (Index i = 0; i < b.layerCount; ++i) {
        out.kind.push_back(ElementKind::Border);
        out.layer.push_back(b.firstLayer + i);
        out.width.push_back(0.0);
        out.group.push_back(group);
        if (i > 0) {
            out.segments.push_back({first + i - 1, first + i});
        }
    }
    return first;
}

void addBorders(const LayoutInput& input, Elements& out)
{
    findGroupLayers(input, out, out.borders);
    for (Index group = 0; group < static_cast<Index>(out.borders.size()); ++group) {
        out.borders[group].firstLeft = addBorderChain(out, group);
        out.borders[group].firstRight = addBorderChain(out, group);
    }
}

void indexElements(Index layerCount, Elements& out)
{
    const auto keyOf = [&](auto end) {
        return [&out, end](Index segment) {
            return segment < out.layeredSegmentCount ? out.segments[segment].*end : kNone;
        };
    };
    const auto segments = static_cast<Index>(out.segments.size());
    out.down = groupBy(segments, out.count(), keyOf(&Segment::upper));
    out.up = groupBy(segments, out.count(), keyOf(&Segment::lower));
    out.layers = groupBy(out.count(), layerCount, [&](Index element) { return out.layer[element]; });
    out.position.assign(out.kind.size(), 0);
    for (Index l = 0; l < layerCount; ++l) {
        out.updatePositions(l);
    }
}

} // namespace

Elements buildElements(const LayoutInput& input, const Ranking& ranking, const LayoutOptions& options)
{
    Elements out;
    out.nodeCount = static_cast<Index>(input.nodeSizes.size());
    out.kind.assign(input.nodeSizes.size(), ElementKind::Node);
    out.layer = ranking.layer;
    out.group = input.nodeGroups;
    out.group.resize(input.nodeSizes.size(), kNone);
    out.groupParents = input.groupParents;
    for (const Size& size : input.nodeSizes) {
        out.width.push_back(size.width);
    }
    Builder builder(input, ranking, options.parallelGap, out);
    const Index maxSpan = builder.affordableSpan(std::max<Index>(options.maxLaneSpan, 1));
    for (Index node = 0; node < out.nodeCount; ++node) {
        builder.addSource(node, maxSpan);
    }
    addBorders(input, out);
    out.layeredSegmentCount = static_cast<Index>(out.segments.size());
    builder.addSideLanes();
    indexElements(ranking.layerCount(), out);
    return out;
}

} // namespace retro::layout
