// SPDX-License-Identifier: Apache-2.0
#include "core/trace/gradientrun.h"

#include <algorithm>
#include <array>
#include <string_view>

namespace retro::trace
{

namespace
{

bool tells(const NodeRule& rule)
{
    return !rule.rule.empty() && (rule.structure == "linear map" || rule.structure == "bilinear");
}

bool isGradient(const NodeRule& rule) { return rule.rule.starts_with("gradient"); }

/// Of those composites that carry gradients.
bool isOfGradients(const NodeRule& rule)
{
    constexpr std::array<std::string_view, 3> kForActivations{"guided-backprop", "deconvnet", "beta-smooth"};
    return isGradient(rule) ||
           std::ranges::any_of(kForActivations, [&](std::string_view name) { return rule.rule.starts_with(name); });
}

} // namespace

bool isPlainGradient(const NodeRule& rule) { return rule.rule == "gradient"; }

bool handsOn(const NodeRule& rule) { return rule.rule == "pass"; }

bool carriesGradient(std::span<const NodeRule> rules)
{
    if (std::ranges::any_of(rules, tells)) {
        return std::ranges::all_of(rules, [](const NodeRule& rule) { return !tells(rule) || isGradient(rule); });
    }
    const auto isApplied = [](const NodeRule& rule) { return !rule.rule.empty(); };
    return std::ranges::any_of(rules, isApplied) &&
           std::ranges::all_of(rules, [&](const NodeRule& rule) { return !isApplied(rule) || isOfGradients(rule); });
}

bool carriesGradient(const Run& run)
{
    const auto told = run.facts.numbers.find(kGradientNumber);
    return told == run.facts.numbers.end() ? carriesGradient(run.rules) : told->second != 0;
}

} // namespace retro::trace
