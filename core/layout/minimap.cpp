// SPDX-License-Identifier: Apache-2.0
#include "core/layout/minimap.h"

namespace retro::layout
{

namespace
{

/// Moves the interval [low, low + size) into [from, from + room), cutting it to the room.
void fitInto(double& low, double& size, double from, double room)
{
    size = std::min(size, room);
    low = std::clamp(low, from, from + room - size);
}

} // namespace

Minimap::Minimap(const Rect& scene, const Rect& map) : m_scene(scene), m_map(map)
{
    m_scene.width = std::max(m_scene.width, 1.0);
    m_scene.height = std::max(m_scene.height, 1.0);
    const double scale = std::min(map.width / m_scene.width, map.height / m_scene.height);
    m_scaleX = std::max(scale, kLeastShare * map.width / m_scene.width);
    m_scaleY = std::max(scale, kLeastShare * map.height / m_scene.height);
    const double width = m_scene.width * m_scaleX;
    const double height = m_scene.height * m_scaleY;
    m_picture = {map.x + (map.width - width) / 2, map.y + (map.height - height) / 2, width, height};
}

Point Minimap::toMap(Point p) const
{
    return {m_picture.x + (p.x - m_scene.x) * m_scaleX, m_picture.y + (p.y - m_scene.y) * m_scaleY};
}

Point Minimap::toScene(Point p) const
{
    return {m_scene.x + (p.x - m_picture.x) / m_scaleX, m_scene.y + (p.y - m_picture.y) / m_scaleY};
}

Rect Minimap::toMap(const Rect& area) const
{
    const Point at = toMap(Point{area.x, area.y});
    return {at.x, at.y, area.width * m_scaleX, area.height * m_scaleY};
}

Rect Minimap::viewportFrame(const Rect& visibleScene) const
{
    Rect frame = toMap(visibleScene);
    const Point center = frame.center();
    frame.width = std::max(frame.width, kLeastHandle);
    frame.height = std::max(frame.height, kLeastHandle);
    frame.x = center.x - frame.width / 2;
    frame.y = center.y - frame.height / 2;
    fitInto(frame.x, frame.width, m_map.x, m_map.width);
    fitInto(frame.y, frame.height, m_map.y, m_map.height);
    return frame;
}

} // namespace retro::layout
