// SPDX-License-Identifier: Apache-2.0
#include "core/diagnosis/finding.h"

#include <algorithm>

namespace retro::diagnosis
{

std::string_view nameOf(Level level)
{
    switch (level) {
    case Level::Note:
        return "note";
    case Level::Warning:
        return "warning";
    case Level::Difference:
        return "difference";
    case Level::Error:
        break;
    }
    return "error";
}

double Finding::score() const
{
    constexpr double kLargestEffect = 0.99; // section 3: e in 0 … 0.99
    return base + std::clamp(effect, 0.0, kLargestEffect) / 2 + raised;
}

std::string_view familyOf(std::string_view id) { return id.substr(0, id.find('.')); }

std::string_view Finding::family() const { return familyOf(id); }

double Finding::number(std::string_view name) const
{
    const auto at = std::ranges::find_if(numbers, [name](const auto& one) { return one.first == name; });
    return at == numbers.end() ? 0 : at->second;
}

std::string Finding::line() const { return place.name + " " + what + " [" + id + "]"; }

std::string Finding::meaning() const
{
    std::string text = means;
    if (!remedy.empty()) {
        text += (text.empty() ? "" : " ") + remedy;
    }
    if (!action.option.empty()) {
        while (text.ends_with('.')) {
            text.pop_back();
        }
        text += (text.empty() ? "" : ": ") + action.option;
    }
    return text;
}

} // namespace retro::diagnosis
