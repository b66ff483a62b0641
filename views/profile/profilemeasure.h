// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/trace/profile.h"

#include <QString>

#include <array>

namespace retro::views
{

/// What is looked at of what a pass spent.
enum class ProfileMeasure : std::uint8_t { Time, Operations, Bytes };
inline constexpr std::array kProfileMeasures{ProfileMeasure::Time, ProfileMeasure::Operations, ProfileMeasure::Bytes};

/// "Time", "Operations", "Bytes".
[[nodiscard]] QString wordOf(ProfileMeasure measure);
/// Of one computation: seconds, floating-point operations, bytes of what it made.
[[nodiscard]] double measureOf(const trace::ProfileRow& row, ProfileMeasure measure);
/// With its unit: "1.2 ms", "3.4 MFLOP", "12 kB".
[[nodiscard]] QString measureText(double amount, ProfileMeasure measure);
/// What was decided, in a word: "kept", "dropped" …
[[nodiscard]] QString wordOf(event::MemoryChoice choice);

} // namespace retro::views
