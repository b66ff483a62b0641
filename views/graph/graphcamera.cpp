// SPDX-License-Identifier: Apache-2.0
#include "views/graph/graphcamera.h"

#include <algorithm>

namespace retro::views
{

namespace
{

/// How far [low, high] must move to lie in [from, to] with a margin; centred when it does not fit.
double shiftInto(double low, double high, double from, double to, double margin)
{
    if (high - low > to - from - 2 * margin) {
        return (from + to - low - high) / 2;
    }
    if (low < from + margin) {
        return from + margin - low;
    }
    return high > to - margin ? to - margin - high : 0;
}

} // namespace

void GraphCamera::setTransposed(bool isTransposed)
{
    if (m_isTransposed != isTransposed) {
        m_isTransposed = isTransposed;
        m_x = 0;
        m_y = 0;
    }
}

/// Scene to the axes of the screen, and back.
layout::Point GraphCamera::turned(layout::Point point) const
{
    return m_isTransposed ? layout::Point{point.y, point.x} : point;
}

QPointF GraphCamera::toScreen(layout::Point scene) const
{
    const layout::Point at = turned(scene);
    return {(at.x - m_x) * m_zoom, (at.y - m_y) * m_zoom};
}

QRectF GraphCamera::toScreen(const layout::Rect& scene) const
{
    const QSizeF size(scene.width * m_zoom, scene.height * m_zoom);
    return {toScreen(layout::Point{scene.x, scene.y}), m_isTransposed ? size.transposed() : size};
}

layout::Point GraphCamera::toScene(QPointF pixel) const
{
    return turned({pixel.x() / m_zoom + m_x, pixel.y() / m_zoom + m_y});
}

layout::Rect GraphCamera::toScene(const QRectF& pixels) const
{
    const layout::Point at = toScene(pixels.topLeft());
    const QSizeF size = m_isTransposed ? pixels.size().transposed() : pixels.size();
    return {at.x, at.y, size.width() / m_zoom, size.height() / m_zoom};
}

void GraphCamera::zoomAt(QPointF pixel, double factor)
{
    const layout::Point fixed = toScene(pixel);
    m_zoom = std::clamp(m_zoom * factor, kSmallest, kLargest);
    place(fixed, pixel);
}

void GraphCamera::pan(QPointF pixels)
{
    m_x -= pixels.x() / m_zoom;
    m_y -= pixels.y() / m_zoom;
}

void GraphCamera::place(layout::Point scene, QPointF pixel)
{
    const layout::Point at = turned(scene);
    m_x = at.x - pixel.x() / m_zoom;
    m_y = at.y - pixel.y() / m_zoom;
}

void GraphCamera::fit(const layout::Rect& bounds, const QRectF& view, double largest)
{
    const layout::Point size = turned({bounds.width, bounds.height});
    const double x = view.width() / std::max(size.x, 1.0);
    const double y = view.height() / std::max(size.y, 1.0);
    m_zoom = std::clamp(std::min({x, y, largest}), kSmallest, kLargest);
    place(bounds.center(), view.center());
}

bool GraphCamera::reveal(const layout::Rect& area, const QRectF& view, double margin)
{
    const QRectF box = toScreen(area);
    if (view.contains(box)) {
        return false;
    }
    pan({shiftInto(box.left(), box.right(), view.left(), view.right(), margin),
         shiftInto(box.top(), box.bottom(), view.top(), view.bottom(), margin)});
    return true;
}

void GraphCamera::fillHeight(const layout::Rect& bounds, const QRectF& view)
{
    const QRectF picture = toScreen(bounds);
    if (picture.height() <= view.height()) {
        pan({0, view.center().y() - picture.center().y()});
    } else {
        pan({0, std::min(0.0, view.top() - picture.top()) + std::max(0.0, view.bottom() - picture.bottom())});
    }
}

void GraphCamera::keepInSight(const layout::Rect& bounds, const QRectF& view, double margin)
{
    const QRectF picture = toScreen(bounds);
    const double dx =
        std::max(0.0, view.left() + margin - picture.right()) - std::max(0.0, picture.left() - view.right() + margin);
    const double dy =
        std::max(0.0, view.top() + margin - picture.bottom()) - std::max(0.0, picture.top() - view.bottom() + margin);
    pan({dx, dy});
}

} // namespace retro::views
