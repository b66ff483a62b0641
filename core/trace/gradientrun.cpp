// SPDX-License-Identifier: Apache-2.0
#include "core/trace/gradientrun.h"

#include <algorithm>

namespace retro::trace
{

bool carriesGradient(std::span<const NodeRule> rules)
{
    const auto counts = [](const NodeRule& rule) {
        return !rule.rule.empty() && (rule.structure == "linear map" || rule.structure == "bilinear");
    };
    const auto isGradient = [&](const NodeRule& rule) { return !counts(rule) || rule.rule.starts_with("gradient"); };
    return std::any_of(rules.begin(), rules.end(), counts) && std::all_of(rules.begin(), rules.end(), isGradient);
}

} // namespace retro::trace
