// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <array>
#include <string>
#include <string_view>

namespace retro::graph
{

/// True for the name of an axis that names nothing: exporters write it for every extent that they do not know ("?",
/// "None", "unk__12", "dyn", "-1", ""). Two axes of such a name need not agree; two of any other name must.
[[nodiscard]] inline bool isPlaceholder(std::string_view symbol)
{
    constexpr std::array<std::string_view, 15> kWords{"",     "?",       "*",         "-",    "none",
                                                      "null", "nan",     "unk",       "any",  "unknown",
                                                      "dyn",  "dynamic", "undefined", "free", "unspecified"};
    std::string word(symbol);
    std::transform(word.begin(), word.end(), word.begin(),
                   [](char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c; });
    const auto isCounted = [](char c) { return (c >= '0' && c <= '9') || c == '_' || c == '-'; };
    while (!word.empty() && isCounted(word.back())) {
        word.pop_back(); // "unk__12", "-1"
    }
    const bool isNumber = word.empty();
    return isNumber || std::find(kWords.begin(), kWords.end(), word) != kWords.end();
}

} // namespace retro::graph
