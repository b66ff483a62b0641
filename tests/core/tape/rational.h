// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace retro::tape
{

/// An exact fraction of 128-bit integers in lowest terms, denominator positive. What does not fit, and a division by
/// zero, becomes a number that says so: it stays so in every further operation and is equal to nothing.
class Rational
{
public:
    Rational() = default;
    Rational(std::int64_t value) : m_numerator(value) {}
    /// numerator / denominator.
    Rational(std::int64_t numerator, std::int64_t denominator);

    /// False after an overflow or a division by zero.
    [[nodiscard]] bool isExact() const { return m_isExact; }
    [[nodiscard]] bool isPositive() const { return m_isExact && m_numerator > 0; }
    [[nodiscard]] double toDouble() const;
    /// "-3/7", "5", or "inexact".
    [[nodiscard]] std::string text() const;

    [[nodiscard]] bool operator==(const Rational& other) const
    {
        return m_isExact && other.m_isExact && m_numerator == other.m_numerator && m_denominator == other.m_denominator;
    }
    friend Rational operator+(const Rational& a, const Rational& b);
    friend Rational operator-(const Rational& a, const Rational& b);
    friend Rational operator*(const Rational& a, const Rational& b);
    Rational& operator+=(const Rational& other) { return *this = *this + other; }
    /// 1 / a.
    friend Rational inverse(const Rational& a);

private:
    __extension__ using Wide = __int128;
    static Rational reduced(Wide numerator, Wide denominator);
    static Rational inexact();

    Wide m_numerator = 0;
    Wide m_denominator = 1;
    bool m_isExact = true;
};

/// 1 / a; not exact for 0.
[[nodiscard]] Rational inverse(const Rational& a);

/// Reads "p", "-p" or "p/q"; nothing when the text is no such number or does not fit 64 bits.
[[nodiscard]] std::optional<Rational> parseRational(std::string_view text);

/// As Rational::text().
[[nodiscard]] inline std::string toText(const Rational& a) { return a.text(); }
/// False for what is not exact.
[[nodiscard]] inline bool isPositive(const Rational& a) { return a.isPositive(); }

} // namespace retro::tape
