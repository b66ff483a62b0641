// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/text/utf8.h"

#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace retro::text
{

/// Longest text that becomes of one: the longest that is given, each byte of it written as a visible character.
inline constexpr std::size_t kMostChangedBytes = 48U << 20;

/// Throws base::Failure (Input) for more bytes than that: steps of a tokenizer.json may each make a text longer.
void checkChangedBytes(std::size_t bytes);

/// Characters from `begin` up to `end` of the text as it was given.
struct Range
{
    std::uint32_t begin = 0;
    std::uint32_t end = 0;

    bool operator==(const Range&) const = default;
};

/// A character that replaces others. 0: the next one; 1: it comes in beside the one before; -n: the next one, and n
/// more behind it go.
struct Change
{
    char32_t code = 0;
    std::int32_t taken = 0;
};

/// A text that was changed, which knows for each of its bytes from which characters of the given text it came. What
/// changes it throws as checkChangedBytes() does.
class AlignedText
{
public:
    AlignedText() = default;
    /// The text as it is given, whose first character is number `first` of the whole.
    explicit AlignedText(std::string utf8, std::uint32_t first = 0);

    [[nodiscard]] const std::string& bytes() const { return m_bytes; }
    [[nodiscard]] bool isEmpty() const { return m_bytes.empty(); }
    /// Where the given text of this piece begins and ends.
    [[nodiscard]] Range place() const { return {m_first, m_last}; }
    /// The characters that bytes `begin` up to `end` came from; nothing at `place().begin` + `begin` for no bytes, as
    /// those who count on it have it.
    [[nodiscard]] Range rangeOf(std::size_t begin, std::size_t end) const;
    /// A part of it, of whole characters.
    [[nodiscard]] AlignedText slice(std::size_t begin, std::size_t end) const;

    /// Replaces everything by `changes`, after `removed` characters at the start that go without one.
    void change(std::span<const Change> changes, std::size_t removed = 0);
    /// Keeps the characters of which `keep` is true.
    void filter(const std::function<bool(char32_t)>& keep);
    /// One character for each.
    void map(const std::function<char32_t(char32_t)>& change);
    /// Puts `text` before it; an empty text stays empty.
    void prepend(std::string_view text);
    /// Puts `content` in the place of each of `places` (bytes, in order). What comes in belongs to the last character
    /// that goes.
    void replace(std::span<const std::pair<std::size_t, std::size_t>> places, std::string_view content);

private:
    std::string m_bytes;
    std::vector<Range> m_from; ///< of each byte
    std::uint32_t m_first = 0;
    std::uint32_t m_last = 0;
};

} // namespace retro::text
