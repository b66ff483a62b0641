// SPDX-License-Identifier: Apache-2.0
#include "core/lrp/rules/parametertext.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <optional>

namespace retro::lrp
{

namespace
{

std::optional<double> numberOf(std::string_view text)
{
    double number = 0;
    const auto [end, status] = std::from_chars(text.data(), text.data() + text.size(), number);
    const bool isWhole = status == std::errc() && end == text.data() + text.size();
    return isWhole && std::isfinite(number) ? std::optional(number) : std::nullopt;
}

// "−2.1/−2.0/−1.8": a number per channel; nothing when it is no such list.
std::vector<double> numbersOf(std::string_view text)
{
    std::vector<double> numbers;
    while (!text.empty()) {
        const std::string_view item = text.substr(0, text.find('/'));
        const std::optional<double> number = numberOf(item);
        if (!number) {
            return {};
        }
        numbers.push_back(*number);
        text.remove_prefix(std::min(text.size(), item.size() + 1));
    }
    return numbers;
}

RuleParameter parameterOf(std::string_view text)
{
    if (const std::optional<double> number = numberOf(text)) {
        return *number;
    }
    if (text == "true" || text == "false") {
        return text == "true";
    }
    if (std::vector<double> numbers = numbersOf(text); numbers.size() > 1) {
        return numbers;
    }
    return std::string(text);
}

struct ValueText
{
    std::string operator()(bool flag) const { return flag ? "true" : "false"; }
    std::string operator()(double number) const { return fmt::format("{}", number); }
    std::string operator()(const std::string& text) const { return text; }
    std::string operator()(const std::vector<double>& numbers) const
    {
        return fmt::format("{}", fmt::join(numbers, "/"));
    }
};

} // namespace

base::Result<RuleParameters> parseParameters(std::string_view text, const std::string& where)
{
    RuleParameters parameters;
    while (!text.empty()) {
        const std::string_view item = text.substr(0, text.find(','));
        text.remove_prefix(std::min(text.size(), item.size() + 1));
        const std::size_t equals = item.find('=');
        if (equals == std::string_view::npos || equals == 0) {
            return base::usageError(fmt::format("\"{}\" is not a parameter; write name:key=value,key=value", item),
                                    where);
        }
        if (!parameters.emplace(item.substr(0, equals), parameterOf(item.substr(equals + 1))).second) {
            return base::usageError(fmt::format("the parameter {} is given twice", item.substr(0, equals)), where);
        }
    }
    return parameters;
}

std::string textOf(const RuleParameters& parameters)
{
    std::vector<std::string> items;
    for (const auto& [name, value] : parameters) {
        items.push_back(fmt::format("{}={}", name, std::visit(ValueText{}, value)));
    }
    return fmt::format("{}", fmt::join(items, ","));
}

} // namespace retro::lrp
