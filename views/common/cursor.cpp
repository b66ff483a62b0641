// SPDX-License-Identifier: Apache-2.0
#include "views/common/cursor.h"

#include <algorithm>

namespace retro::views
{

void Cursor::reset(std::uint64_t end, std::uint64_t position)
{
    m_end = end;
    m_position = std::min(position, end);
    emit moved(m_position);
}

void Cursor::moveTo(std::uint64_t position)
{
    const std::uint64_t wanted = std::min(position, m_end);
    if (wanted == m_position) {
        return;
    }
    m_position = wanted;
    emit moved(m_position);
}

} // namespace retro::views
