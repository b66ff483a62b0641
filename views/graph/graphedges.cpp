// SPDX-License-Identifier: Apache-2.0
#include "views/graph/graphedges.h"

#include <QPolygonF>

#include <algorithm>
#include <cmath>

namespace retro::views
{

namespace
{

constexpr double kWidest = 11; // of an edge, design pixels

bool isAlong(const layout::Point& a, const layout::Point& b) { return a.x == b.x; }

/// To a corner that lies aside, out of one and into the other along the drawing.
void appendCurve(QPainterPath& path, QPointF to, bool isTurned)
{
    const QPointF from = path.currentPosition();
    const QPointF middle = (from + to) / 2;
    path.cubicTo(isTurned ? QPointF(middle.x(), from.y()) : QPointF(from.x(), middle.y()),
                 isTurned ? QPointF(middle.x(), to.y()) : QPointF(to.x(), middle.y()), to);
}

} // namespace

QPointF edgeCorner(const GraphCamera& camera, layout::Point point)
{
    const QPointF exact = camera.toScreen(point);
    return camera.isTransposed() ? QPointF(exact.x(), std::floor(exact.y()) + 0.5)
                                 : QPointF(std::floor(exact.x()) + 0.5, exact.y());
}

void appendEdgePath(QPainterPath& path, const GraphCamera& camera, std::span<const layout::Point> points)
{
    const bool isTurned = camera.isTransposed();
    for (std::size_t i = 0; i < points.size(); ++i) {
        QPointF to = edgeCorner(camera, points[i]);
        double& along = isTurned ? to.rx() : to.ry();
        along += i + 1 == points.size() ? 1 : 0;
        along -= i == 0 ? 1 : 0;
        if (i == 0) {
            path.moveTo(to);
        } else if (isAlong(points[i - 1], points[i])) {
            path.lineTo(to);
        } else {
            appendCurve(path, to, isTurned);
        }
    }
}

double edgeWidthOf(double sum, double unit)
{
    const double raw = 1.1 + 1.55 * std::log2(1 + std::abs(sum));
    const double design = std::isfinite(raw) ? std::min(raw, kWidest) : kWidest;
    return std::max(1.0, design * std::min(unit, 1.5));
}

EdgeTrack::EdgeTrack(const QPainterPath& path)
{
    for (const QPolygonF& polygon : path.toSubpathPolygons()) {
        for (const QPointF& point : polygon) {
            add(point);
        }
    }
}

void EdgeTrack::add(QPointF point)
{
    if (m_points.empty()) {
        m_points.push_back(point);
        m_lengths.push_back(0);
        return;
    }
    const QPointF step = point - m_points.back();
    const double length = std::hypot(step.x(), step.y());
    if (length > 0) {
        m_points.push_back(point);
        m_lengths.push_back(m_lengths.back() + length);
    }
}

void EdgeTrack::append(const EdgeTrack& other)
{
    for (const QPointF& point : other.m_points) {
        add(point);
    }
}

EdgeTrack EdgeTrack::reversed() const
{
    EdgeTrack track;
    for (auto point = m_points.rbegin(); point != m_points.rend(); ++point) {
        track.add(*point);
    }
    return track;
}

/// Index of the point that ends the segment at a distance.
std::size_t EdgeTrack::segmentAt(double distance) const
{
    const auto after = std::upper_bound(m_lengths.begin(), m_lengths.end(), distance);
    const auto at = static_cast<std::size_t>(after - m_lengths.begin());
    return std::clamp<std::size_t>(at, 1, m_points.size() - 1);
}

QPointF EdgeTrack::at(double distance) const
{
    if (m_points.size() < 2) {
        return m_points.empty() ? QPointF() : m_points.front();
    }
    const double clamped = std::clamp(distance, 0.0, length());
    const std::size_t end = segmentAt(clamped);
    const double share = (clamped - m_lengths[end - 1]) / (m_lengths[end] - m_lengths[end - 1]);
    return m_points[end - 1] + share * (m_points[end] - m_points[end - 1]);
}

QPointF EdgeTrack::directionAt(double distance) const
{
    if (m_points.size() < 2) {
        return {1, 0};
    }
    const std::size_t end = segmentAt(std::clamp(distance, 0.0, length()));
    return (m_points[end] - m_points[end - 1]) / (m_lengths[end] - m_lengths[end - 1]);
}

QPainterPath EdgeTrack::piece(double from, double to) const
{
    QPainterPath path;
    if (m_points.size() < 2 || to <= from) {
        return path;
    }
    path.moveTo(at(from));
    for (std::size_t i = 0; i < m_points.size(); ++i) {
        if (m_lengths[i] > from && m_lengths[i] < to) {
            path.lineTo(m_points[i]);
        }
    }
    path.lineTo(at(to));
    return path;
}

} // namespace retro::views
