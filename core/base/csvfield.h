// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <string_view>

namespace retro::base
{

/// A text as one field of a CSV file: in quotes where it holds a comma, a quote or a line's end, quotes doubled (RFC
/// 4180); other control characters and what is not UTF-8 escaped (visibleText).
[[nodiscard]] std::string csvField(std::string_view raw);

} // namespace retro::base
