// SPDX-License-Identifier: Apache-2.0
#include "core/formats/graphjsonnames.h"

#include <array>
#include <cstdint>

namespace retro::formats
{

namespace
{

constexpr std::string_view kDigits = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

constexpr std::array<std::int8_t, 256> valuesOfDigits()
{
    std::array<std::int8_t, 256> values{};
    values.fill(-1);
    for (std::size_t i = 0; i < kDigits.size(); ++i) {
        values[static_cast<unsigned char>(kDigits[i])] = static_cast<std::int8_t>(i);
    }
    return values;
}

constexpr auto kValues = valuesOfDigits();

std::uint32_t byteAt(std::span<const std::byte> data, std::size_t i)
{
    return i < data.size() ? static_cast<std::uint32_t>(data[i]) : 0;
}

/// 24 bits of four digits; none when one of them is no digit.
std::optional<std::uint32_t> groupOf(std::string_view four)
{
    std::uint32_t bits = 0;
    for (const char c : four) {
        const std::int8_t value = kValues[static_cast<unsigned char>(c)];
        if (value < 0) {
            return std::nullopt;
        }
        bits = (bits << 6U) | static_cast<std::uint32_t>(value);
    }
    return bits;
}

} // namespace

std::optional<tensor::DType> dtypeOfName(std::string_view name)
{
    for (std::size_t i = 0; i < tensor::kDTypeCount; ++i) {
        if (tensor::nameOf(static_cast<tensor::DType>(i)) == name) {
            return static_cast<tensor::DType>(i);
        }
    }
    return std::nullopt;
}

std::string toBase64(std::span<const std::byte> data)
{
    std::string text;
    text.reserve((data.size() + 2) / 3 * 4);
    for (std::size_t i = 0; i < data.size(); i += 3) {
        const std::uint32_t bits = (byteAt(data, i) << 16U) | (byteAt(data, i + 1) << 8U) | byteAt(data, i + 2);
        text += kDigits[(bits >> 18U) & 63U];
        text += kDigits[(bits >> 12U) & 63U];
        text += i + 1 < data.size() ? kDigits[(bits >> 6U) & 63U] : '=';
        text += i + 2 < data.size() ? kDigits[bits & 63U] : '=';
    }
    return text;
}

std::optional<std::vector<std::byte>> fromBase64(std::string_view text)
{
    if (text.size() % 4 != 0) {
        return std::nullopt;
    }
    const std::size_t padding = text.ends_with("==") ? 2 : text.ends_with("=") ? 1 : 0;
    std::string digits(text);
    digits.replace(digits.size() - padding, padding, padding, 'A');
    std::vector<std::byte> data;
    data.reserve(digits.size() / 4 * 3);
    for (std::size_t i = 0; i < digits.size(); i += 4) {
        const std::optional<std::uint32_t> bits = groupOf(std::string_view(digits).substr(i, 4));
        if (!bits) {
            return std::nullopt;
        }
        for (const unsigned shift : {16U, 8U, 0U}) {
            data.push_back(static_cast<std::byte>((*bits >> shift) & 255U));
        }
    }
    data.erase(data.end() - static_cast<std::ptrdiff_t>(padding), data.end());
    return data;
}

} // namespace retro::formats
