// SPDX-License-Identifier: Apache-2.0
#include "views/input/coversheet.h"

#include <algorithm>
#include <cmath>
#include <utility>

namespace retro::views
{

namespace
{
/// Changes that can be taken back.
constexpr std::size_t kHistory = 100;
} // namespace

void CoverSheet::start(const QSize& size)
{
    m_size = size;
    m_pixels.assign(
        static_cast<std::size_t>(std::max(0, size.width())) * static_cast<std::size_t>(std::max(0, size.height())), 0);
    m_past.clear();
    m_future.clear();
    m_changes = 0;
}

bool CoverSheet::covers(int x, int y) const
{
    const bool isInside = x >= 0 && y >= 0 && x < m_size.width() && y < m_size.height();
    return isInside && m_pixels[static_cast<std::size_t>(y * m_size.width() + x)] != 0;
}

std::int64_t CoverSheet::count() const
{
    return std::count_if(m_pixels.begin(), m_pixels.end(), [](std::uint8_t pixel) { return pixel != 0; });
}

double CoverSheet::share() const
{
    return m_pixels.empty() ? 0 : static_cast<double>(count()) / static_cast<double>(m_pixels.size());
}

void CoverSheet::beginChange()
{
    m_past.push_back(m_pixels);
    ++m_changes;
    if (m_past.size() > kHistory) {
        m_past.erase(m_past.begin());
    }
    m_future.clear();
}

void CoverSheet::coverSpot(const QPoint& center, int diameter)
{
    const double radius = diameter / 2.0;
    const int reach = static_cast<int>(radius);
    const QRect around(center - QPoint(reach, reach), center + QPoint(reach, reach));
    const QRect inside = around.intersected(QRect(QPoint(), m_size));
    for (int y = inside.top(); y <= inside.bottom(); ++y) {
        for (int x = inside.left(); x <= inside.right(); ++x) {
            if (std::hypot(x - center.x(), y - center.y()) <= radius) {
                m_pixels[static_cast<std::size_t>(y * m_size.width() + x)] = 1;
            }
        }
    }
}

void CoverSheet::coverLine(const QPoint& from, const QPoint& to, int diameter)
{
    const QPoint way = to - from;
    const int steps = std::max({std::abs(way.x()), std::abs(way.y()), 1});
    for (int i = 0; i <= steps; ++i) {
        coverSpot(from + (QPointF(way) * i / steps).toPoint(), diameter);
    }
}

void CoverSheet::coverBox(const QRect& box)
{
    const QRect inside = box.intersected(QRect(QPoint(), m_size));
    for (int y = inside.top(); y <= inside.bottom(); ++y) {
        std::fill_n(m_pixels.begin() + y * m_size.width() + inside.left(), inside.width(), 1);
    }
}

void CoverSheet::undo()
{
    if (canUndo()) {
        m_future.push_back(std::exchange(m_pixels, std::move(m_past.back())));
        m_past.pop_back();
        --m_changes;
    }
}

void CoverSheet::redo()
{
    if (canRedo()) {
        m_past.push_back(std::exchange(m_pixels, std::move(m_future.back())));
        m_future.pop_back();
        ++m_changes;
    }
}

} // namespace retro::views
