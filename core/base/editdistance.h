// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace retro::base
{

/// How many letters must be put in, taken out, changed, or exchanged with the next, to get from `a` to `b`.
/// O(|a| · |b|).
[[nodiscard]] std::size_t editsBetween(std::string_view a, std::string_view b);

/// Those of the names that a misspelt one may stand for, at most three, the nearest first: whatever the case, at most a
/// third of its letters differ, or two, and not half of them.
[[nodiscard]] std::vector<std::string_view> nearestNames(std::string_view name,
                                                         const std::vector<std::string_view>& names);

/// What the end of a message says of a name that is none of `names`: "; did you mean a or b?", or nothing.
template <class Names>
[[nodiscard]] std::string guessText(std::string_view name, const Names& names)
{
    std::string text;
    for (const std::string_view near : nearestNames(name, {std::begin(names), std::end(names)})) {
        text += text.empty() ? "; did you mean " : " or ";
        text += near;
    }
    return text.empty() ? text : text + "?";
}

} // namespace retro::base
