// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <string_view>

namespace retro::base
{

/// What becomes of tabs and ends of lines.
enum class LineEnds {
    Shown, ///< escaped like other control characters: for a name inside a line
    Kept,  ///< left as they are: for a text of several lines, or a whole file
};

/// A text from a file as it may be shown on a terminal and written into other files: control characters (U+0000 to
/// U+001F, U+007F to U+009F), the marks that change the direction of writing (U+202A to U+202E, U+2066 to U+2069) and
/// what no XML file may hold (U+FFFE, U+FFFF) become "\x1b", "\x9b", "\u202e"; bytes that are not UTF-8 become "\xff".
/// Everything else stays. The result is valid UTF-8.
[[nodiscard]] std::string visibleText(std::string_view text, LineEnds lineEnds = LineEnds::Shown);

/// JSON in which the characters that visibleText escapes are written as "\u009b". `json` holds none below U+0020 inside
/// its texts, which JSON forbids.
[[nodiscard]] std::string escapedInJson(std::string json);

/// Length in bytes of the UTF-8 character that starts with `lead`; 0 when none does.
[[nodiscard]] std::size_t utf8LengthBy(unsigned char lead);

/// Length in bytes of the UTF-8 character at the start of `text`; 0 when there is none.
[[nodiscard]] std::size_t utf8Length(std::string_view text);

/// A long text with its middle left out: "abc … xyz (500000 bytes)". Cuts between characters of UTF-8 where `text` is.
[[nodiscard]] std::string shortened(std::string_view text, std::size_t most);

} // namespace retro::base
