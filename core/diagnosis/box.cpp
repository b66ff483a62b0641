// SPDX-License-Identifier: Apache-2.0
#include "core/diagnosis/box.h"

#include "core/diagnosis/numbertext.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>

namespace retro::diagnosis
{

namespace
{

std::vector<double> numbersOf(const std::string& text)
{
    std::vector<double> numbers;
    const char* at = text.c_str();
    while (*at != '\0') {
        char* end = nullptr;
        const double number = std::strtod(at, &end);
        if (end == at) {
            return {};
        }
        numbers.push_back(number);
        at = *end == '/' ? end + 1 : end;
        if (*end != '/' && *end != '\0') {
            return {};
        }
    }
    return numbers;
}

} // namespace

double Box::least() const { return *std::ranges::min_element(low); }

double Box::largest() const { return *std::ranges::max_element(high); }

std::optional<Box> boxOf(const std::string& rule)
{
    const std::string head = "z-box ";
    const std::size_t middle = rule.find(" to ");
    if (!rule.starts_with(head) || middle == std::string::npos) {
        return std::nullopt;
    }
    const std::size_t end = std::min(rule.find(','), rule.size());
    Box box{numbersOf(rule.substr(head.size(), middle - head.size())),
            numbersOf(rule.substr(middle + 4, end - middle - 4))};
    const bool isWhole = !box.low.empty() && !box.high.empty() &&
                         (box.low.size() == box.high.size() || box.low.size() == 1 || box.high.size() == 1);
    return isWhole ? std::optional(std::move(box)) : std::nullopt;
}

std::string shortRule(const std::string& rule)
{
    if (const std::optional<Box> box = boxOf(rule)) {
        return fmt::format("z-box {} … {}", numberText(box->least()), numberText(box->largest()));
    }
    return rule.substr(0, rule.find(", epsilon"));
}

} // namespace retro::diagnosis
