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

/// An interval whose ends are numbers of type T, rounded outwards: it holds the exact number, and what T makes of it.
template <class T>
struct IntervalOf
{
    T low = 0;
    T high = 0;

    IntervalOf() = default;
    IntervalOf(std::int64_t value) : low(static_cast<T>(value)), high(low) {}
    IntervalOf(T l, T h) : low(l), high(h) {}
    bool operator==(const IntervalOf&) const = default;
    [[nodiscard]] bool holds(T value) const { return low <= value && value <= high; }
    [[nodiscard]] bool meets(const IntervalOf& other) const { return low <= other.high && other.low <= high; }

    static IntervalOf outward(T l, T h)
    {
        constexpr T kInfinity = std::numeric_limits<T>::infinity();
        return {std::nextafter(l, -kInfinity), std::nextafter(h, kInfinity)};
    }
    friend IntervalOf operator+(IntervalOf a, IntervalOf b) { return outward(a.low + b.low, a.high + b.high); }
    friend IntervalOf operator*(IntervalOf a, IntervalOf b)
    {
        const auto [l, h] = std::minmax({a.low * b.low, a.low * b.high, a.high * b.low, a.high * b.high});
        return outward(l, h);
    }
    IntervalOf& operator+=(IntervalOf other) { return *this = *this + other; }
};

using Interval = IntervalOf<double>;

/// Whole numbers modulo 2⁶⁴: counts, which may grow beyond what a word holds without that being an error.
using Count = std::uint64_t;

} // namespace retro::tapetest
