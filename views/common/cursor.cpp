// SPDX-License-Identifier: Apache-2.0
#include "views/common/cursor.h"

#include <algorithm>

namespace retro::views
{

void Cursor::reset(std::uint64_t end, std::uint64_t position)
{
    m_end = end;
    m_position = std::min(position, end);
    m_fraction = 0;
    emit moved(m_position);
    emit glided(moment());
}

void Cursor::moveTo(std::uint64_t position) { glideTo(static_cast<double>(std::min(position, m_end))); }

void Cursor::glideTo(double moment)
{
    const double wanted = std::clamp(moment, 0.0, static_cast<double>(m_end));
    const auto position = static_cast<std::uint64_t>(wanted);
    const double fraction = wanted - static_cast<double>(position);
    if (position == m_position && fraction == m_fraction) {
        return;
    }
    m_fraction = fraction;
    if (position != m_position) {
        m_position = position;
        emit moved(m_position);
    }
    emit glided(this->moment());
}

void Cursor::setSpeed(double visitsPerSecond)
{
    if (visitsPerSecond != m_speed) {
        m_speed = visitsPerSecond;
        emit speedChanged(m_speed);
    }
}

} // namespace retro::views

#include "moc_cursor.cpp"
