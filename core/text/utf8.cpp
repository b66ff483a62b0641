// SPDX-License-Identifier: Apache-2.0
#include "core/text/utf8.h"

namespace retro::text
{

namespace
{

constexpr std::string_view kReplacement = "\xEF\xBF\xBD";

unsigned byteAt(std::string_view bytes, std::size_t at) { return static_cast<unsigned char>(bytes[at]); }

/// Bytes of a character that begins with this one.
std::uint32_t lengthFrom(unsigned first) { return first >= 0xF0U ? 4 : first >= 0xE0U ? 3 : 2; }

struct ByteRange
{
    unsigned least = 0x80U;
    unsigned most = 0xBFU;

    [[nodiscard]] bool holds(unsigned byte) const { return byte >= least && byte <= most; }
};

/// What may stand second in a character that begins with this byte.
ByteRange secondBytes(unsigned first)
{
    switch (first) {
    case 0xE0U:
        return {0xA0U, 0xBFU}; // no longer than needed
    case 0xEDU:
        return {0x80U, 0x9FU}; // no surrogates
    case 0xF0U:
        return {0x90U, 0xBFU}; // no longer than needed
    case 0xF4U:
        return {0x80U, 0x8FU}; // nothing above U+10FFFF
    default:
        return {};
    }
}

/// Length of the character at `at`, or, when `valid` becomes false, of the longest piece that could begin one.
std::size_t pieceAt(std::string_view bytes, std::size_t at, bool& valid)
{
    const unsigned first = byteAt(bytes, at);
    valid = true;
    if (first < 0x80U) {
        return 1;
    }
    const std::size_t length = lengthFrom(first);
    if (first < 0xC2U || first > 0xF4U) {
        valid = false;
        return 1;
    }
    ByteRange allowed = secondBytes(first);
    for (std::size_t i = 1; i < length; ++i) {
        if (at + i >= bytes.size() || !allowed.holds(byteAt(bytes, at + i))) {
            valid = false;
            return i;
        }
        allowed = {};
    }
    return length;
}

} // namespace

Character characterAt(std::string_view utf8, std::size_t at)
{
    const unsigned first = byteAt(utf8, at);
    if (first < 0x80U) {
        return {first, 1};
    }
    const std::uint32_t length = lengthFrom(first);
    std::uint32_t code = first & (0x7FU >> length);
    for (std::uint32_t i = 1; i < length && at + i < utf8.size(); ++i) {
        code = code << 6U | (byteAt(utf8, at + i) & 0x3FU);
    }
    return {code, length};
}

Character characterBefore(std::string_view utf8, std::size_t end)
{
    std::size_t at = end - 1;
    while (at > 0 && (byteAt(utf8, at) & 0xC0U) == 0x80U) {
        --at;
    }
    return characterAt(utf8, at);
}

void append(std::string& utf8, char32_t code)
{
    const auto put = [&utf8](std::uint32_t byte) { utf8.push_back(static_cast<char>(byte)); };
    if (code < 0x80U) {
        put(code);
    } else if (code < 0x800U) {
        put(0xC0U | code >> 6U);
        put(0x80U | (code & 0x3FU));
    } else if (code < 0x10000U) {
        put(0xE0U | code >> 12U);
        put(0x80U | (code >> 6U & 0x3FU));
        put(0x80U | (code & 0x3FU));
    } else {
        put(0xF0U | code >> 18U);
        put(0x80U | (code >> 12U & 0x3FU));
        put(0x80U | (code >> 6U & 0x3FU));
        put(0x80U | (code & 0x3FU));
    }
}

std::string toUtf8(std::u32string_view codes)
{
    std::string utf8;
    for (const char32_t code : codes) {
        append(utf8, code);
    }
    return utf8;
}

std::u32string toCodes(std::string_view utf8)
{
    std::u32string codes;
    for (std::size_t at = 0; at < utf8.size();) {
        const Character one = characterAt(utf8, at);
        codes.push_back(one.code);
        at += one.bytes;
    }
    return codes;
}

std::size_t characterCount(std::string_view utf8)
{
    std::size_t count = 0;
    for (const char byte : utf8) {
        count += (static_cast<unsigned char>(byte) & 0xC0U) != 0x80U ? 1 : 0;
    }
    return count;
}

std::optional<std::size_t> invalidUtf8(std::string_view bytes)
{
    bool valid = true;
    for (std::size_t at = 0; at < bytes.size();) {
        const std::size_t length = pieceAt(bytes, at, valid);
        if (!valid) {
            return at;
        }
        at += length;
    }
    return std::nullopt;
}

std::string lossyUtf8(std::string_view bytes)
{
    std::string text;
    text.reserve(bytes.size());
    bool valid = true;
    for (std::size_t at = 0; at < bytes.size();) {
        const std::size_t length = pieceAt(bytes, at, valid);
        text += valid ? bytes.substr(at, length) : kReplacement;
        at += length;
    }
    return text;
}

} // namespace retro::text
