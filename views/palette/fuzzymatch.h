// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string_view>
#include <vector>

namespace retro::views
{

/// How well a pattern fits a text, and which letters of the text it stands for.
struct FuzzyMatch
{
    int score = 0;
    std::vector<int> places; ///< index of each pattern letter in the text, ascending
};

/// The pattern's letters in their order somewhere in the text, whatever the case of A–Z; nothing when they are not
/// there. The placing with the best score wins: a letter at the start of a word (of the text, after a separator, at a
/// capital after a small letter) or right after the one before counts more, gaps count less, and of two texts that fit
/// equally the shorter one is better. An empty pattern fits everything with score 0. Time: pattern × text.
[[nodiscard]] std::optional<FuzzyMatch> fuzzyMatch(std::u16string_view pattern, std::u16string_view text);

/// Score alone, on UTF-8 as graphs hold it: for lists of 100,000 names.
[[nodiscard]] std::optional<int> fuzzyScore(std::string_view pattern, std::string_view text);

} // namespace retro::views
