// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <string>
#include <string_view>

namespace retro::base
{

/// 64-bit hash that is the same on every machine and in every run. Not cryptographic.
class Hasher
{
public:
    /// Adds raw bytes, eight at a time.
    void bytes(std::span<const std::byte> data);
    /// Adds a number.
    void number(std::uint64_t v) { mix(v); }
    /// Adds a text with its length, so that ("ab","c") differs from ("a","bc").
    void text(std::string_view s)
    {
        mix(s.size());
        bytes(std::as_bytes(std::span(s.data(), s.size())));
    }
    /// The hash of everything added so far.
    [[nodiscard]] std::uint64_t digest() const;

private:
    void mix(std::uint64_t v);
    std::uint64_t m_state = 0x9e3779b97f4a7c15ULL;
};

/// 16 lower-case hexadecimal digits.
[[nodiscard]] std::string hex(std::uint64_t v);

} // namespace retro::base
