// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace retro::base
{

/// A text as one field of a CSV file: in quotes where it holds a comma, a quote or a line's end, quotes doubled (RFC
/// 4180); other control characters and what is not UTF-8 escaped (visibleText).
[[nodiscard]] std::string csvField(std::string_view raw);

/// The fields of one line of a table: split at commas outside of quotes, with what csvField() put around them taken
/// off. A quote that does not end reaches to the end of the line.
[[nodiscard]] std::vector<std::string> csvFields(std::string_view line);

} // namespace retro::base
