// SPDX-License-Identifier: Apache-2.0
#include "core/trace/file/forwardedrows.h"

#include <fmt/format.h>

#include <charconv>
#include <string_view>

namespace retro::trace::file
{

namespace
{

/// The text up to the next space, which is taken away with it.
std::string_view takeWord(std::string_view& rest)
{
    const std::size_t end = rest.find(' ');
    const std::string_view word = rest.substr(0, end);
    rest = end == std::string_view::npos ? std::string_view() : rest.substr(end + 1);
    return word;
}

bool readBytes(std::string_view word, std::int64_t& bytes)
{
    const auto [end, error] = std::from_chars(word.data(), word.data() + word.size(), bytes);
    return error == std::errc() && end == word.data() + word.size() && bytes >= 0;
}

} // namespace

std::string forwardedText(const ForwardedValue& value)
{
    return fmt::format("{} {} {} {} {}", nameOf(value.form), value.bytes, value.kept, value.isFallback ? 1 : 0,
                       value.reason);
}

bool readForwarded(const std::string& text, ForwardedValue& value)
{
    std::string_view rest = text;
    const std::optional<ForwardedForm> form = forwardedForm(takeWord(rest));
    if (!form || !readBytes(takeWord(rest), value.bytes) || !readBytes(takeWord(rest), value.kept)) {
        return false;
    }
    const std::string_view fallback = takeWord(rest);
    value.form = *form;
    value.isFallback = fallback == "1";
    value.reason = rest;
    return fallback == "0" || fallback == "1";
}

} // namespace retro::trace::file
