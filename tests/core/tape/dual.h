// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "tests/core/tape/machine.h"

#include <cstdint>
#include <string>

namespace retro::tape
{

/// a + b·ε with ε² = 0 over any scalar: a forward pass in dual numbers carries the derivative along a direction (the
/// tangent) beside the value, so the tape needs no second engine for it.
template <class K>
struct Dual
{
    K value{};
    K tangent{};

    Dual() = default;
    Dual(std::int64_t constant) : value(static_cast<K>(constant)), tangent(static_cast<K>(0)) {}
    Dual(K v, K t) : value(v), tangent(t) {}

    bool operator==(const Dual&) const = default;
    friend Dual operator+(const Dual& a, const Dual& b) { return {a.value + b.value, a.tangent + b.tangent}; }
    friend Dual operator-(const Dual& a, const Dual& b) { return {a.value - b.value, a.tangent - b.tangent}; }
    friend Dual operator*(const Dual& a, const Dual& b)
    {
        return {a.value * b.value, a.value * b.tangent + a.tangent * b.value};
    }
    Dual& operator+=(const Dual& other) { return *this = *this + other; }
};

/// 1 / a.
template <class K>
requires requires(K k) { inverse(k); }
[[nodiscard]] Dual<K> inverse(const Dual<K>& a)
{
    const K reciprocal = inverse(a.value);
    return {reciprocal, K(0) - a.tangent * reciprocal * reciprocal};
}

/// Of the value alone.
template <class K>
requires requires(K k) { isPositive(k); }
[[nodiscard]] bool isPositive(const Dual<K>& a) { return isPositive(a.value); }

/// exp(a).
template <class K>
requires requires(K k) { exponential(k); }
[[nodiscard]] Dual<K> exponential(const Dual<K>& a)
{
    const K value = exponential(a.value);
    return {value, value * a.tangent};
}

/// ln a.
template <class K>
requires requires(K k) { logarithm(k); }
[[nodiscard]] Dual<K> logarithm(const Dual<K>& a) { return {logarithm(a.value), a.tangent * inverse(a.value)}; }

template <class K>
[[nodiscard]] std::string toText(const Dual<K>& a)
{
    return toText(a.value) + " + " + toText(a.tangent) + "·ε";
}

} // namespace retro::tape
