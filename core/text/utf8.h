// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace retro::text
{

/// A character and its length in bytes.
struct Character
{
    char32_t code = 0;
    std::uint32_t bytes = 0;
};
/// The character at byte `at` of valid UTF-8.
[[nodiscard]] Character characterAt(std::string_view utf8, std::size_t at);

/// The character that ends before byte `end` (> 0) of valid UTF-8.
[[nodiscard]] Character characterBefore(std::string_view utf8, std::size_t end);

/// Adds one character.
void append(std::string& utf8, char32_t code);
/// These characters as UTF-8.
[[nodiscard]] std::string toUtf8(std::u32string_view codes);
/// The characters of valid UTF-8.
[[nodiscard]] std::u32string toCodes(std::string_view utf8);
/// How many there are in valid UTF-8.
[[nodiscard]] std::size_t characterCount(std::string_view utf8);

/// Byte offset of the first byte that belongs to no character; none for valid UTF-8.
[[nodiscard]] std::optional<std::size_t> invalidUtf8(std::string_view bytes);

/// Bytes as text: every longest piece that could begin a character but is none becomes U+FFFD, as the Unicode standard
/// recommends.
[[nodiscard]] std::string lossyUtf8(std::string_view bytes);

} // namespace retro::text
