// SPDX-License-Identifier: Apache-2.0
#include "core/base/bytesize.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <charconv>
#include <cmath>
#include <limits>
#include <optional>
#include <span>

namespace retro::base
{

namespace
{

constexpr double kMostPercent = 1e6;
constexpr std::string_view kPrefixes = "kmgtp";

/// Spaces at both ends removed.
std::string_view trimmed(std::string_view text)
{
    while (!text.empty() && text.front() == ' ') {
        text.remove_prefix(1);
    }
    while (!text.empty() && text.back() == ' ') {
        text.remove_suffix(1);
    }
    return text;
}

/// Bytes of one unit, written in any case; nothing when it is none.
std::optional<double> unitOf(std::string_view text)
{
    std::string unit(text);
    std::ranges::transform(unit, unit.begin(), [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
    if (unit.empty() || unit == "b") {
        return 1;
    }
    const std::size_t power = kPrefixes.find(unit.front());
    const std::string rest = unit.substr(1);
    if (power == std::string_view::npos || (rest != "b" && rest != "ib")) {
        return std::nullopt;
    }
    return std::pow(rest == "b" ? 1000.0 : 1024.0, static_cast<double>(power + 1));
}

/// The letter of a prefix that stands alone, in upper case; 0 where none does.
char letterAlone(std::string_view text)
{
    const char letter = text.size() == 1 ? static_cast<char>(std::tolower(static_cast<unsigned char>(text[0]))) : '\0';
    return letter != '\0' && kPrefixes.find(letter) != std::string_view::npos
               ? static_cast<char>(std::toupper(static_cast<unsigned char>(letter)))
               : '\0';
}

/// The number at the start of the text, and what follows it.
struct Leading
{
    double number = 0;
    std::string_view rest;
};

std::optional<Leading> leadingNumber(std::string_view text)
{
    Leading leading;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), leading.number);
    if (error != std::errc() || !std::isfinite(leading.number) || leading.number < 0) {
        return std::nullopt;
    }
    leading.rest = trimmed(text.substr(static_cast<std::size_t>(end - text.data())));
    return leading;
}

/// A whole number of bytes without a unit, exactly: a double holds 53 bits.
std::optional<std::uint64_t> wholeBytes(std::string_view text)
{
    std::uint64_t bytes = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), bytes);
    const bool isWhole = error == std::errc() && end == text.data() + text.size() && !text.empty();
    return isWhole && bytes <= std::numeric_limits<std::int64_t>::max() ? std::optional(bytes) : std::nullopt;
}

constexpr std::array kDecimalUnits{"B", "kB", "MB", "GB", "TB", "PB"};

std::string inUnits(std::uint64_t bytes, double base, std::span<const char* const> units, int decimals)
{
    double size = static_cast<double>(bytes);
    std::size_t unit = 0;
    while (size >= base && unit + 1 < units.size()) {
        size /= base;
        ++unit;
    }
    return unit == 0 ? fmt::format("{} B", bytes) : fmt::format("{:.{}f} {}", size, decimals, units[unit]);
}

} // namespace

Result<std::uint64_t> parseBytes(std::string_view text)
{
    const std::string_view plain = trimmed(text);
    if (const auto whole = wholeBytes(plain)) {
        return *whole;
    }
    const auto leading = leadingNumber(plain);
    if (const char letter = leading ? letterAlone(leading->rest) : '\0'; letter != '\0') {
        const std::string number(plain.substr(0, plain.size() - leading->rest.size()));
        return usageError(
            fmt::format("'{0}' can be read in two ways: write {1}{2}B (powers of 1000) or {1}{3}iB (powers "
                        "of 1024)",
                        text, trimmed(number), letter == 'K' ? 'k' : letter, letter));
    }
    const auto unit = leading ? unitOf(leading->rest) : std::nullopt;
    if (!unit) {
        return usageError(fmt::format("'{}' is no size; write {}", text, kBytesForms));
    }
    const double bytes = std::floor(leading->number * *unit);
    if (bytes >= 0x1p63) {
        return usageError(fmt::format("the size '{}' is too large", text));
    }
    return static_cast<std::uint64_t>(bytes);
}

Result<std::uint64_t> parseBytesOrShare(std::string_view text, std::uint64_t whole)
{
    const std::string_view plain = trimmed(text);
    if (!isShareText(plain)) {
        return parseBytes(text);
    }
    const auto leading = leadingNumber(plain.substr(0, plain.size() - 1));
    if (!leading || !leading->rest.empty() || leading->number <= 0 || leading->number > kMostPercent) {
        return usageError(fmt::format("'{}' is no share; write it like 70%", text));
    }
    const double bytes = std::floor(static_cast<double>(whole) * leading->number / 100);
    if (bytes >= 0x1p63) {
        return usageError(fmt::format("the size '{}' is too large", text));
    }
    return static_cast<std::uint64_t>(bytes);
}

std::string bytesText(std::uint64_t bytes) { return inUnits(bytes, 1000, kDecimalUnits, 1); }

std::string bothBytesText(std::uint64_t bytes)
{
    static constexpr std::array kBinaryUnits{"B", "KiB", "MiB", "GiB", "TiB", "PiB"};
    const std::string decimal = inUnits(bytes, 1000, kDecimalUnits, 2);
    return bytes < 1000 ? decimal : fmt::format("{} ({})", decimal, inUnits(bytes, 1024, kBinaryUnits, 2));
}

} // namespace retro::base
