// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <compare>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <string_view>

namespace retro::base
{

/// What Hasher128 makes of everything added to it.
struct Hash128
{
    std::uint64_t high = 0;
    std::uint64_t low = 0;
    auto operator<=>(const Hash128&) const = default;
};

/// 32 lower-case hexadecimal digits.
[[nodiscard]] std::string hex(const Hash128& hash);

/// 128-bit hash (XXH3 of xxHash) that is the same on every machine and in every run. It decides whether a stored result
/// still answers: two questions with one hash would give the result of the other one, so 64 bits are too few for many
/// results. Not cryptographic.
class Hasher128
{
public:
    Hasher128();
    ~Hasher128();
    Hasher128(const Hasher128&) = delete;
    Hasher128& operator=(const Hasher128&) = delete;

    /// Adds raw bytes.
    void bytes(std::span<const std::byte> data);
    /// Adds a number, as eight bytes with the lowest first.
    void number(std::uint64_t v);
    /// Adds the hash of something that was hashed by itself.
    void hash(const Hash128& nested);
    /// Adds a text with its length, so that ("ab","c") differs from ("a","bc").
    void text(std::string_view s);
    /// The hash of everything added so far.
    [[nodiscard]] Hash128 value() const;
    /// The same in 32 lower-case hexadecimal digits.
    [[nodiscard]] std::string digest() const { return hex(value()); }

private:
    struct State;
    std::unique_ptr<State> m_state;
};

} // namespace retro::base

template <>
struct std::hash<retro::base::Hash128>
{
    std::size_t operator()(const retro::base::Hash128& key) const noexcept { return key.low; }
};
