// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/layout/geometry.h"

#include <cstddef>
#include <vector>

namespace retro::layout
{

/// Appends a point to the line that begins at `points[first]`: not twice the same, and none between two others on a
/// vertical.
inline void appendPoint(std::vector<Point>& points, std::size_t first, const Point& point)
{
    const std::size_t own = points.size() - first;
    if (own >= 1 && points.back() == point) {
        return;
    }
    if (own >= 2 && points.back().x == point.x && points[points.size() - 2].x == point.x) {
        points.back() = point;
        return;
    }
    points.push_back(point);
}

} // namespace retro::layout
