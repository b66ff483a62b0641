// SPDX-License-Identifier: Apache-2.0
#include "core/formats/stoppableinput.h"

#include <algorithm>

namespace retro::formats
{

bool StoppableInput::Next(const void** data, int* size)
{
    m_isTooLarge = m_isTooLarge || m_arena.SpaceAllocated() > kMostMemory + kMostTimes * m_at;
    if (m_at == m_data.size() || m_stop.stop_requested() || m_isTooLarge) {
        return false;
    }
    const std::size_t count = std::min(kPiece, m_data.size() - m_at);
    *data = m_data.data() + m_at;
    *size = static_cast<int>(count);
    m_at += count;
    return true;
}

void StoppableInput::BackUp(int count) { m_at -= static_cast<std::size_t>(count); }

bool StoppableInput::Skip(int count)
{
    const std::size_t left = m_data.size() - m_at;
    m_at += std::min(static_cast<std::size_t>(count), left);
    return static_cast<std::size_t>(count) <= left;
}

} // namespace retro::formats
