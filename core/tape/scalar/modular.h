// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>

namespace retro::tape
{

/// An integer modulo the prime p = 2⁶¹ − 1: sums and products are exact and do not grow, so two polynomials that differ
/// agree at a random point with a probability of at most degree / p.
class Modular
{
public:
    static constexpr std::uint64_t kPrime = (1ULL << 61) - 1;

    constexpr Modular() = default;
    /// Any integer; negative ones wrap.
    constexpr Modular(std::int64_t value)
        : m_value(value >= 0 ? reduced(static_cast<std::uint64_t>(value))
                             : kPrime - 1 - reduced(static_cast<std::uint64_t>(-(value + 1))))
    {}

    [[nodiscard]] constexpr std::uint64_t value() const { return m_value; }
    constexpr bool operator==(const Modular&) const = default;

    friend constexpr Modular operator+(Modular a, Modular b) { return raw(reduced(a.m_value + b.m_value)); }
    friend constexpr Modular operator-(Modular a, Modular b) { return raw(reduced(a.m_value + kPrime - b.m_value)); }
    friend constexpr Modular operator*(Modular a, Modular b)
    {
        const Wide product = static_cast<Wide>(a.m_value) * b.m_value;
        const std::uint64_t low = static_cast<std::uint64_t>(product) & kPrime;
        const std::uint64_t high = static_cast<std::uint64_t>(product >> 61);
        return raw(reduced(low + high));
    }
    constexpr Modular& operator+=(Modular other) { return *this = *this + other; }

private:
    __extension__ using Wide = unsigned __int128;

    static constexpr std::uint64_t reduced(std::uint64_t value)
    {
        const std::uint64_t folded = (value & kPrime) + (value >> 61);
        return folded >= kPrime ? folded - kPrime : folded;
    }
    static constexpr Modular raw(std::uint64_t value)
    {
        Modular made;
        made.m_value = value;
        return made;
    }

    std::uint64_t m_value = 0; // in [0, p)
};

/// 1 / a, by a^(p − 2); 0 for 0.
[[nodiscard]] constexpr Modular inverse(Modular a)
{
    Modular result(1);
    for (std::uint64_t exponent = Modular::kPrime - 2; exponent != 0; exponent >>= 1) {
        if ((exponent & 1) != 0) {
            result = result * a;
        }
        a = a * a;
    }
    return result;
}

/// In [0, p).
[[nodiscard]] inline std::string toText(Modular a) { return std::to_string(a.value()); }

} // namespace retro::tape
