// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/event/event.h"

namespace retro::event
{

/// Flag of Land and Take: the part comes from another use of the same value by the same node as the part before it,
/// and the two are added first.
inline constexpr std::uint8_t kJoined = 1;

/// True for a part that is first added to the one before it, of the parts of its output.
[[nodiscard]] constexpr bool isJoined(const Event& event)
{
    return (event.kind == EventKind::Land || event.kind == EventKind::Take) && event.flag == kJoined;
}

} // namespace retro::event
