// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/tape/scalar/flag.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>

/// Scalars that only tests need.
namespace retro::tapetest
{

/// An interval whose ends are rounded outwards.
struct Interval
{
    double low = 0;
    double high = 0;

    Interval() = default;
    Interval(std::int64_t value) : low(static_cast<double>(value)), high(low) {}
    Interval(double l, double h) : low(l), high(h) {}
    bool operator==(const Interval&) const = default;
    [[nodiscard]] bool holds(double value) const { return low <= value && value <= high; }

    static Interval outward(double l, double h)
    {
        constexpr double kInfinity = std::numeric_limits<double>::infinity();
        return {std::nextafter(l, -kInfinity), std::nextafter(h, kInfinity)};
    }
    friend Interval operator+(Interval a, Interval b) { return outward(a.low + b.low, a.high + b.high); }
    friend Interval operator*(Interval a, Interval b)
    {
        const auto [l, h] = std::minmax({a.low * b.low, a.low * b.high, a.high * b.low, a.high * b.high});
        return outward(l, h);
    }
    Interval& operator+=(Interval other) { return *this = *this + other; }
};

} // namespace retro::tapetest
