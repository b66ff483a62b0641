// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "views/graph/graphcamera.h"
#include "views/graph/graphscene.h"

#include <QPainterPath>

#include <span>

namespace retro::views
{

/// A corner of an edge in pixels, in the middle of a pixel across the drawing, so that thin straight lines are sharp.
[[nodiscard]] QPointF edgeCorner(const GraphCamera& camera, layout::Point point);
/// Adds an edge, from its producer to its consumer: slanted pieces become curves that leave and arrive along the
/// drawing. Both ends reach a pixel into their boxes, whose borders are rounded to pixels.
void appendEdgePath(QPainterPath& path, const GraphCamera& camera, std::span<const layout::Point> points);

/// Line width for the relevance on an edge: 1.1 + 1.55 · log2(1 + |R|) design pixels, at most 11; `unit` = pixels per
/// design pixel.
[[nodiscard]] double edgeWidthOf(double sum, double unit);

/// A path as points with their distances from its start.
class EdgeTrack
{
public:
    EdgeTrack() = default;
    explicit EdgeTrack(const QPainterPath& path);

    [[nodiscard]] bool isEmpty() const { return m_points.empty(); }
    [[nodiscard]] double length() const { return m_lengths.empty() ? 0 : m_lengths.back(); }
    /// The point at a distance from the start (clamped).
    [[nodiscard]] QPointF at(double distance) const;
    /// Unit vector along the path there.
    [[nodiscard]] QPointF directionAt(double distance) const;
    /// The piece between two distances.
    [[nodiscard]] QPainterPath piece(double from, double to) const;
    /// Goes on where this one ends, over a straight line when they do not meet.
    void append(const EdgeTrack& other);
    [[nodiscard]] EdgeTrack reversed() const;

private:
    void add(QPointF point);
    [[nodiscard]] std::size_t segmentAt(double distance) const;

    std::vector<QPointF> m_points;
    std::vector<double> m_lengths;
};

} // namespace retro::views
