// SPDX-License-Identifier: Apache-2.0
#include "core/layout/layeredlayout.h"

#include "core/layout/buckets.h"

#include <bit>
#include <cmath>

namespace retro::layout
{

namespace
{

Index classOf(LayerSpan span)
{
    return static_cast<Index>(std::bit_width(static_cast<std::uint32_t>(span.last - span.first + 1))) - 1;
}

/// Bounding box of the piece between two points of an edge.
Rect pieceBounds(Point a, Point b)
{
    return {std::min(a.x, b.x), std::min(a.y, b.y), std::abs(a.x - b.x), std::abs(a.y - b.y)};
}

double distanceToPiece(Point p, Point a, Point b)
{
    const double dx = b.x - a.x;
    const double dy = b.y - a.y;
    const double length = dx * dx + dy * dy;
    const double along = length > 0 ? std::clamp(((p.x - a.x) * dx + (p.y - a.y) * dy) / length, 0.0, 1.0) : 0.0;
    return std::hypot(p.x - (a.x + along * dx), p.y - (a.y + along * dy));
}

double distanceToEdge(Point p, std::span<const Point> points)
{
    double nearest = distanceToPiece(p, points.front(), points.front());
    for (std::size_t i = 1; i < points.size(); ++i) {
        nearest = std::min(nearest, distanceToPiece(p, points[i - 1], points[i]));
    }
    return nearest;
}

bool touches(std::span<const Point> points, const Rect& area)
{
    for (std::size_t i = 1; i < points.size(); ++i) {
        if (pieceBounds(points[i - 1], points[i]).intersects(area)) {
            return true;
        }
    }
    return false;
}

/// Layers that an edge at y in [top, bottom] can belong to: those around the area too, because edges run between
/// layers.
LayerRange widened(LayerRange range, std::size_t layerCount)
{
    return {std::max<Index>(range.first - 1, 0), std::min(range.last + 1, static_cast<Index>(layerCount))};
}

} // namespace

EdgeIndex::EdgeIndex(const std::vector<LayerSpan>& spans, Index layerCount)
{
    const auto count = static_cast<Index>(spans.size());
    const Index classes = classOf({0, std::max<Index>(layerCount, 1) - 1}) + 1;
    const Buckets byFirst = groupBy(count, layerCount, [&](Index edge) { return spans[edge].first; });
    const Buckets byClass = groupBy(count, classes, [&](Index i) { return classOf(spans[byFirst.items[i]]); });
    m_entries.reserve(spans.size());
    for (const Index i : byClass.items) {
        m_entries.push_back({spans[byFirst.items[i]], byFirst.items[i]});
    }
    m_classStart = byClass.offsets;
}

void EdgeIndex::find(Index firstLayer, Index lastLayer, std::vector<Index>& out) const
{
    for (std::size_t c = 0; c + 1 < m_classStart.size(); ++c) {
        const Index earliest = firstLayer - static_cast<Index>((std::int64_t{2} << c) - 2); // longest span of the class
        const auto begin = m_entries.begin() + m_classStart[c];
        const auto end = m_entries.begin() + m_classStart[c + 1];
        auto at =
            std::lower_bound(begin, end, earliest, [](const Entry& e, Index layer) { return e.span.first < layer; });
        for (; at != end && at->span.first <= lastLayer; ++at) {
            if (at->span.last >= firstLayer) {
                out.push_back(at->edge);
            }
        }
    }
}

LayerRange LayeredLayout::layersBetween(double top, double bottom) const
{
    const auto first =
        std::partition_point(layers.begin(), layers.end(), [&](const Layer& l) { return l.bottom < top; });
    const auto last = std::partition_point(first, layers.end(), [&](const Layer& l) { return l.top <= bottom; });
    return {static_cast<Index>(first - layers.begin()), static_cast<Index>(last - layers.begin())};
}

void LayeredLayout::nodesIn(const Rect& area, std::vector<Index>& out) const
{
    const LayerRange range = layersBetween(area.y, area.bottom());
    for (Index l = range.first; l < range.last; ++l) {
        const auto inLayer = nodesOf(layers[l]);
        auto at =
            std::partition_point(inLayer.begin(), inLayer.end(), [&](Index n) { return nodes[n].right() < area.x; });
        for (; at != inLayer.end() && nodes[*at].x <= area.right(); ++at) {
            if (nodes[*at].intersects(area)) {
                out.push_back(*at);
            }
        }
    }
}

Index LayeredLayout::nodeAt(Point point) const
{
    const LayerRange range = layersBetween(point.y, point.y);
    for (Index l = range.first; l < range.last; ++l) {
        const auto inLayer = nodesOf(layers[l]);
        const auto at =
            std::partition_point(inLayer.begin(), inLayer.end(), [&](Index n) { return nodes[n].right() < point.x; });
        if (at != inLayer.end() && nodes[*at].contains(point)) {
            return *at;
        }
    }
    return kNone;
}

void LayeredLayout::edgesOfLayers(LayerRange range, std::vector<Index>& out) const
{
    if (range.first < range.last) {
        edgeIndex.find(range.first, range.last - 1, out);
    }
}

void LayeredLayout::edgesIn(const Rect& area, std::vector<Index>& out) const
{
    const std::size_t kept = out.size();
    edgesOfLayers(widened(layersBetween(area.y, area.bottom()), layers.size()), out);
    const auto isOutside = [&](Index e) { return !touches(edge(e), area); };
    out.erase(std::remove_if(out.begin() + static_cast<std::ptrdiff_t>(kept), out.end(), isOutside), out.end());
}

Index LayeredLayout::edgeAt(Point point, double tolerance) const
{
    std::vector<Index> near;
    edgesIn(Rect{point.x, point.y, 0, 0}.grown(tolerance), near);
    Index best = kNone;
    double least = tolerance;
    for (const Index e : near) {
        const double distance = distanceToEdge(point, edge(e));
        if (distance < least || (best == kNone && distance == least)) {
            least = distance;
            best = e;
        }
    }
    return best;
}

Index LayeredLayout::groupAt(Point point) const
{
    Index best = kNone;
    for (Index group = 0; group < static_cast<Index>(groups.size()); ++group) {
        const bool isHit = groups[group].width > 0 && groups[group].contains(point);
        if (isHit && (best == kNone || groups[group].width < groups[best].width)) {
            best = group;
        }
    }
    return best;
}

} // namespace retro::layout
