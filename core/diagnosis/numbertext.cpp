// SPDX-License-Identifier: Apache-2.0
#include "core/diagnosis/numbertext.h"

#include "core/lrp/composite/ruleoverride.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <cmath>

namespace retro::diagnosis
{

std::string numberText(double number)
{
    const double size = std::abs(number);
    constexpr double kFourDigits = 999.5; // which three digits would round to 1e+03
    return size >= kFourDigits && size < 1e6 ? fmt::format("{:.0f}", number) : fmt::format("{:.3g}", number);
}

std::string percentText(double share)
{
    const double percent = 100 * share;
    return std::abs(percent) >= 10 ? fmt::format("{:.0f} %", percent) : fmt::format("{:.3g} %", percent);
}

std::string indexText(const std::vector<std::int64_t>& index) { return fmt::format("[{}]", fmt::join(index, ", ")); }

std::string extentsText(const std::vector<std::int64_t>& extents) { return fmt::format("{}", fmt::join(extents, "×")); }

std::string ruleOption(const std::string& node, std::string_view rule, const lrp::RuleParameters& parameters)
{
    lrp::Matcher matcher;
    matcher.nameGlob = node;
    return "--rule " + lrp::overrideText(matcher, rule, parameters);
}

} // namespace retro::diagnosis
