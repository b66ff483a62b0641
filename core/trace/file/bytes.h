// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <bit>
#include <charconv>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

namespace retro::trace::file
{

/// Little-endian bytes of numbers, whatever the machine: integers and enumerations as they are, double as its bits.
template <class T>
concept Number = (std::integral<T> || std::is_enum_v<T> || std::same_as<T, double>)&&(sizeof(T) <= 8);

template <std::size_t Size>
struct UnsignedOf;
template <>
struct UnsignedOf<1>
{
    using Type = std::uint8_t;
};
template <>
struct UnsignedOf<2>
{
    using Type = std::uint16_t;
};
template <>
struct UnsignedOf<4>
{
    using Type = std::uint32_t;
};
template <>
struct UnsignedOf<8>
{
    using Type = std::uint64_t;
};

/// Builds a blob.
class ByteWriter
{
public:
    template <Number T>
    void put(T value)
    {
        auto bits = std::bit_cast<typename UnsignedOf<sizeof(T)>::Type>(value);
        std::array<std::byte, sizeof(T)> bytes;
        for (std::byte& byte : bytes) {
            byte = static_cast<std::byte>(bits & 0xffU);
            if constexpr (sizeof(T) > 1) {
                bits = static_cast<decltype(bits)>(bits >> 8U);
            }
        }
        raw(bytes);
    }
    /// Length as 32 bits, then the bytes.
    void text(std::string_view text)
    {
        put(static_cast<std::uint32_t>(text.size()));
        raw(std::as_bytes(std::span(text.data(), text.size())));
    }
    /// Bytes as they are.
    void raw(std::span<const std::byte> bytes) { m_bytes.insert(m_bytes.end(), bytes.begin(), bytes.end()); }
    /// Makes room for a blob whose size is known.
    void reserve(std::size_t bytes) { m_bytes.reserve(bytes); }
    [[nodiscard]] std::span<const std::byte> bytes() const { return m_bytes; }

private:
    std::vector<std::byte> m_bytes;
};

/// Takes a blob apart. Reading beyond the end gives zeros and makes ok() false, for good.
class ByteReader
{
public:
    explicit ByteReader(std::span<const std::byte> bytes) : m_rest(bytes) {}

    template <Number T>
    [[nodiscard]] T get()
    {
        using Bits = typename UnsignedOf<sizeof(T)>::Type;
        const std::span<const std::byte> from = raw(sizeof(T));
        Bits bits = 0;
        for (std::size_t i = from.size(); i-- > 0;) {
            if constexpr (sizeof(T) > 1) {
                bits = static_cast<Bits>(bits << 8U);
            }
            bits = static_cast<Bits>(bits | std::to_integer<Bits>(from[i]));
        }
        return std::bit_cast<T>(bits);
    }
    /// A length in 32 bits, then that many bytes.
    [[nodiscard]] std::string text()
    {
        const std::span<const std::byte> from = raw(get<std::uint32_t>());
        return {reinterpret_cast<const char*>(from.data()), from.size()};
    }
    /// The next `count` bytes; empty when there are fewer.
    [[nodiscard]] std::span<const std::byte> raw(std::size_t count)
    {
        if (count > m_rest.size()) {
            m_ok = false;
            m_rest = {};
            return {};
        }
        const std::span<const std::byte> taken = m_rest.first(count);
        m_rest = m_rest.subspan(count);
        return taken;
    }
    /// Bytes that are left.
    [[nodiscard]] std::size_t left() const { return m_rest.size(); }
    [[nodiscard]] bool ok() const { return m_ok; }
    /// Everything was read and nothing was missing.
    [[nodiscard]] bool isDone() const { return m_ok && m_rest.empty(); }
    /// For values that no writer writes.
    void fail() { m_ok = false; }

private:
    std::span<const std::byte> m_rest;
    bool m_ok = true;
};

/// Reads a text that is one number and nothing else.
template <class T>
[[nodiscard]] bool readNumber(std::string_view text, T& number)
{
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
    return error == std::errc() && end == text.data() + text.size();
}

} // namespace retro::trace::file
