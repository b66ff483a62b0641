// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cstdint>

namespace retro::layout
{

/// Position in an array of nodes, edges, groups or layers; -1 = none.
using Index = std::int32_t;
inline constexpr Index kNone = -1;

/// Extents in scene units (one unit = one pixel at zoom 1).
struct Size
{
    double width = 0.0;
    double height = 0.0;
    bool operator==(const Size&) const = default;
};

/// A place in the scene; y grows downwards.
struct Point
{
    double x = 0.0;
    double y = 0.0;
    bool operator==(const Point&) const = default;
};

/// An axis-aligned rectangle; its borders belong to it.
struct Rect
{
    double x = 0.0;
    double y = 0.0;
    double width = 0.0;
    double height = 0.0;

    [[nodiscard]] double right() const { return x + width; }
    [[nodiscard]] double bottom() const { return y + height; }
    [[nodiscard]] Point center() const { return {x + width / 2, y + height / 2}; }
    /// True for points on the borders too.
    [[nodiscard]] bool contains(Point p) const { return p.x >= x && p.x <= right() && p.y >= y && p.y <= bottom(); }
    /// True when all of `o` lies inside.
    [[nodiscard]] bool contains(const Rect& o) const
    {
        return o.x >= x && o.right() <= right() && o.y >= y && o.bottom() <= bottom();
    }
    /// True also when only borders touch.
    [[nodiscard]] bool intersects(const Rect& o) const
    {
        return x <= o.right() && o.x <= right() && y <= o.bottom() && o.y <= bottom();
    }
    /// The smallest rectangle around both.
    [[nodiscard]] Rect united(const Rect& o) const
    {
        const double left = std::min(x, o.x);
        const double top = std::min(y, o.y);
        return {left, top, std::max(right(), o.right()) - left, std::max(bottom(), o.bottom()) - top};
    }
    /// Grown by `by` on every side (shrunk when negative).
    [[nodiscard]] Rect grown(double by) const { return {x - by, y - by, width + 2 * by, height + 2 * by}; }
    bool operator==(const Rect&) const = default;
};

} // namespace retro::layout
