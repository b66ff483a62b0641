// SPDX-License-Identifier: Apache-2.0
#include "tests/core/tape/rational.h"

#include <algorithm>
#include <charconv>

namespace retro::tape
{

namespace
{

__extension__ using Wide = __int128;

Wide magnitude(Wide value) { return value < 0 ? -value : value; }

Wide commonDivisor(Wide a, Wide b)
{
    while (b != 0) {
        const Wide rest = a % b;
        a = b;
        b = rest;
    }
    return a;
}

bool multiply(Wide a, Wide b, Wide& product) { return !__builtin_mul_overflow(a, b, &product); }

std::string digits(Wide value)
{
    std::string text;
    for (Wide rest = magnitude(value); rest != 0 || text.empty(); rest /= 10) {
        text += static_cast<char>('0' + static_cast<int>(rest % 10));
    }
    if (value < 0) {
        text += '-';
    }
    std::reverse(text.begin(), text.end());
    return text;
}

std::optional<std::int64_t> parseInteger(std::string_view text)
{
    std::int64_t value = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
    return error == std::errc() && end == text.data() + text.size() ? std::optional(value) : std::nullopt;
}

} // namespace

Rational::Rational(std::int64_t numerator, std::int64_t denominator) : Rational(reduced(numerator, denominator)) {}

Rational Rational::inexact()
{
    Rational made;
    made.m_isExact = false;
    return made;
}

Rational Rational::reduced(Wide numerator, Wide denominator)
{
    constexpr Wide kMost = (static_cast<Wide>(1) << 126) - 1; // negating stays defined
    if (denominator == 0 || magnitude(numerator) > kMost || magnitude(denominator) > kMost) {
        return inexact();
    }
    const Wide divisor = commonDivisor(magnitude(numerator), magnitude(denominator));
    Rational made;
    made.m_numerator = (denominator < 0 ? -numerator : numerator) / divisor;
    made.m_denominator = magnitude(denominator) / divisor;
    return made;
}

double Rational::toDouble() const { return static_cast<double>(m_numerator) / static_cast<double>(m_denominator); }

std::string Rational::text() const
{
    if (!m_isExact) {
        return "inexact";
    }
    return m_denominator == 1 ? digits(m_numerator) : digits(m_numerator) + "/" + digits(m_denominator);
}

Rational operator+(const Rational& a, const Rational& b)
{
    Wide left = 0;
    Wide right = 0;
    Wide sum = 0;
    Wide denominator = 0;
    const bool fits =
        multiply(a.m_numerator, b.m_denominator, left) && multiply(b.m_numerator, a.m_denominator, right) &&
        multiply(a.m_denominator, b.m_denominator, denominator) && !__builtin_add_overflow(left, right, &sum);
    return fits && a.m_isExact && b.m_isExact ? Rational::reduced(sum, denominator) : Rational::inexact();
}

Rational operator-(const Rational& a, const Rational& b) { return a + b * Rational(-1); }

Rational operator*(const Rational& a, const Rational& b)
{
    Wide numerator = 0;
    Wide denominator = 0;
    const bool fits =
        multiply(a.m_numerator, b.m_numerator, numerator) && multiply(a.m_denominator, b.m_denominator, denominator);
    return fits && a.m_isExact && b.m_isExact ? Rational::reduced(numerator, denominator) : Rational::inexact();
}

Rational inverse(const Rational& a) { return a.m_isExact ? Rational::reduced(a.m_denominator, a.m_numerator) : a; }

std::optional<Rational> parseRational(std::string_view text)
{
    const std::size_t slash = text.find('/');
    const std::optional<std::int64_t> numerator = parseInteger(text.substr(0, slash));
    const std::optional<std::int64_t> denominator =
        slash == std::string_view::npos ? std::optional<std::int64_t>(1) : parseInteger(text.substr(slash + 1));
    if (!numerator || !denominator || *denominator == 0) {
        return std::nullopt;
    }
    return Rational(*numerator, *denominator);
}

} // namespace retro::tape
