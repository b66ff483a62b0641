// SPDX-License-Identifier: Apache-2.0
#include "core/engine/explain/placetext.h"

#include <fmt/format.h>

#include <charconv>
#include <optional>

namespace retro::engine
{

using base::Result;

namespace
{

std::optional<std::int64_t> countIn(std::string_view text)
{
    std::int64_t number = 0;
    const auto [end, ec] = std::from_chars(text.data(), text.data() + text.size(), number);
    return ec == std::errc() && end == text.data() + text.size() && number >= 0 ? std::optional(number) : std::nullopt;
}

/// One part of a list, with `separator` between its two numbers; of one number alone `lone` makes a range.
std::optional<IndexRange> rangeIn(std::string_view part, char separator, std::int64_t beyond)
{
    const std::size_t at = part.find(separator);
    const auto begin = countIn(part.substr(0, at));
    const auto end = at == std::string_view::npos ? begin : countIn(part.substr(at + 1));
    if (!begin || !end) {
        return std::nullopt;
    }
    return IndexRange{*begin, at == std::string_view::npos ? *begin + 1 : *end + beyond};
}

Result<std::vector<IndexRange>> parse(const std::string& text, std::string_view option, char separator,
                                      std::int64_t beyond, std::string_view form)
{
    std::vector<IndexRange> ranges;
    std::string_view rest = text;
    while (true) {
        const std::size_t comma = rest.find(',');
        const auto range = rangeIn(rest.substr(0, comma), separator, beyond);
        if (!range || range->end <= range->begin) {
            return base::usageError(fmt::format("\"{}\" is no {}", text, form), std::string(option));
        }
        ranges.push_back(*range);
        if (comma == std::string_view::npos) {
            return ranges;
        }
        rest.remove_prefix(comma + 1);
    }
}

} // namespace

Result<std::vector<IndexRange>> parseRanges(const std::string& text, std::string_view option)
{
    return parse(text, option, ':', 0, "box; write y0:y1,x0:x1, the ends excluded");
}

Result<std::vector<IndexRange>> parseList(const std::string& text, std::string_view option)
{
    return parse(text, option, '-', 1, "list of positions; write 2-4,7, the ends included");
}

} // namespace retro::engine
