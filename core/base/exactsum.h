// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cmath>

namespace retro::base
{

/// A sum of doubles with about 106 bits: the value and what is left of it (Dekker 1971, Knuth TAOCP 2, 4.2.2). Numbers
/// that cancel leave their difference, not their rounding. Not finite when a term is not.
class ExactSum
{
public:
    ExactSum() = default;
    explicit ExactSum(double value) : m_high(value) {}

    /// What a + b loses when it is rounded: exact unless it overflows.
    [[nodiscard]] static double lost(double a, double b)
    {
        const double sum = a + b;
        const double bRounded = sum - a;
        return (a - (sum - bRounded)) + (b - bRounded);
    }

    /// One more term.
    void add(double term)
    {
        const double sum = m_high + term;
        m_low += lost(m_high, term);
        m_high = sum;
    }
    /// What another sum holds, added or taken away.
    void add(const ExactSum& other)
    {
        add(other.m_high);
        m_low += other.m_low;
    }
    /// As add(), with the other sign.
    void subtract(const ExactSum& other)
    {
        add(-other.m_high);
        m_low -= other.m_low;
    }

    /// Rounded once.
    [[nodiscard]] double value() const { return m_high + m_low; }
    [[nodiscard]] bool isFinite() const { return std::isfinite(m_high) && std::isfinite(m_low); }

private:
    double m_high = 0;
    double m_low = 0;
};

} // namespace retro::base
