// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

namespace retro::conformance
{

/// One line of a list: a word and the reason after it.
struct ListEntry
{
    std::string word;
    std::string reason;
    mutable int uses = 0; ///< cases that it concerned
};

/// Reads a list; '#' starts a comment.
[[nodiscard]] std::vector<ListEntry> readList(const std::filesystem::path& file);

/// True when `text` has the form of `pattern`, in which '*' stands for any characters.
[[nodiscard]] bool matches(std::string_view pattern, std::string_view text);

/// The first entry whose word matches as a pattern; nullptr when none does.
[[nodiscard]] const ListEntry* findPattern(const std::vector<ListEntry>& list, std::string_view text);

/// True when the word of some entry stands in `text` as a whole word.
[[nodiscard]] bool findWord(const std::vector<ListEntry>& list, std::string_view text);

} // namespace retro::conformance
