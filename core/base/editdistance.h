// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <string_view>

namespace retro::base
{

/// How many letters must be put in, taken out or changed to get from `a` to `b`. O(|a| · |b|).
[[nodiscard]] std::size_t editsBetween(std::string_view a, std::string_view b);

} // namespace retro::base
