// SPDX-License-Identifier: Apache-2.0
#include "core/base/visibletext.h"

#include <fmt/format.h>

#include <algorithm>

namespace retro::base
{

namespace
{

char32_t pointOf(std::string_view sequence)
{
    char32_t point = static_cast<unsigned char>(sequence[0]);
    if (sequence.size() > 1) {
        point &= 0x7fU >> sequence.size();
    }
    for (const char c : sequence.substr(1)) {
        point = (point << 6U) | (static_cast<unsigned char>(c) & 0x3fU);
    }
    return point;
}

bool areContinued(std::string_view bytes)
{
    return std::ranges::all_of(bytes, [](char c) { return (static_cast<unsigned char>(c) & 0xc0U) == 0x80U; });
}

bool isHidden(char32_t point, LineEnds lineEnds)
{
    if (point == '\n' || point == '\t' || point == '\r') {
        return lineEnds == LineEnds::Shown;
    }
    const bool isControl = point < 0x20 || (point >= 0x7f && point <= 0x9f);
    const bool isDirection = (point >= 0x202a && point <= 0x202e) || (point >= 0x2066 && point <= 0x2069);
    return isControl || isDirection || point == 0xfffe || point == 0xffff;
}

/// True where nothing can need a change: plain ASCII without control characters.
bool isPlain(std::string_view text)
{
    return std::ranges::all_of(text, [](char c) { return c >= 0x20 && c < 0x7f; });
}

} // namespace

std::size_t utf8LengthBy(unsigned char lead)
{
    if (lead < 0x80) {
        return 1;
    }
    if (lead < 0xc2 || lead > 0xf4) {
        return 0;
    }
    return lead < 0xe0 ? 2 : lead < 0xf0 ? 3 : 4;
}

std::size_t utf8Length(std::string_view text)
{
    const std::size_t length = text.empty() ? 0 : utf8LengthBy(static_cast<unsigned char>(text[0]));
    if (length < 2) {
        return length;
    }
    if (length > text.size() || !areContinued(text.substr(1, length - 1))) {
        return 0;
    }
    const char32_t point = pointOf(text.substr(0, length));
    const char32_t smallest = length == 2 ? 0x80 : length == 3 ? 0x800 : 0x10000;
    const bool isSurrogate = point >= 0xd800 && point <= 0xdfff;
    return point >= smallest && point <= 0x10ffff && !isSurrogate ? length : 0;
}

std::string visibleText(std::string_view text, LineEnds lineEnds)
{
    if (isPlain(text)) {
        return std::string(text);
    }
    std::string shown;
    shown.reserve(text.size());
    while (!text.empty()) {
        const std::size_t length = utf8Length(text);
        const char32_t point = length == 0 ? static_cast<unsigned char>(text[0]) : pointOf(text.substr(0, length));
        const std::size_t taken = std::max<std::size_t>(length, 1);
        if (length == 0 || isHidden(point, lineEnds)) {
            shown += point < 0x100 ? fmt::format("\\x{:02x}", static_cast<unsigned>(point))
                                   : fmt::format("\\u{:04x}", static_cast<unsigned>(point));
        } else {
            shown += text.substr(0, taken);
        }
        text.remove_prefix(taken);
    }
    return shown;
}

std::string escapedInJson(std::string text)
{
    if (std::ranges::all_of(text, [](char c) { return static_cast<unsigned char>(c) < 0x7f; })) {
        return text;
    }
    std::string escaped;
    escaped.reserve(text.size());
    for (std::string_view rest = text; !rest.empty();) {
        const std::size_t taken = std::max<std::size_t>(utf8Length(rest), 1);
        const char32_t point = pointOf(rest.substr(0, taken));
        if (point >= 0x7f && isHidden(point, LineEnds::Kept)) {
            escaped += fmt::format("\\u{:04x}", static_cast<unsigned>(point));
        } else {
            escaped += rest.substr(0, taken);
        }
        rest.remove_prefix(taken);
    }
    return escaped;
}

std::string shortened(std::string_view text, std::size_t most)
{
    if (text.size() <= most) {
        return std::string(text);
    }
    const auto isInside = [&](std::size_t at) { return (static_cast<unsigned char>(text[at]) & 0xc0U) == 0x80U; };
    std::size_t head = most * 2 / 3;
    std::size_t tail = text.size() - most / 3;
    while (head > 0 && isInside(head)) {
        --head;
    }
    while (tail < text.size() && isInside(tail)) {
        ++tail;
    }
    return fmt::format("{} … {} ({} bytes)", text.substr(0, head), text.substr(tail), text.size());
}

} // namespace retro::base
