// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>

namespace retro::tapetest
{

/// The free magma: a sum is the text "(a+b)", so equal texts mean the same additions in the same order.
struct Symbol
{
    std::string text = "0";

    Symbol() = default;
    Symbol(std::int64_t value) : text(std::to_string(value)) {}
    explicit Symbol(std::string t) : text(std::move(t)) {}

    bool operator==(const Symbol&) const = default;
    friend Symbol operator+(const Symbol& a, const Symbol& b) { return Symbol("(" + a.text + "+" + b.text + ")"); }
    friend Symbol operator-(const Symbol& a, const Symbol& b) { return Symbol("(" + a.text + "-" + b.text + ")"); }
    friend Symbol operator*(const Symbol& a, const Symbol& b) { return Symbol("(" + a.text + "*" + b.text + ")"); }
    Symbol& operator+=(const Symbol& other) { return *this = *this + other; }
    /// What the rule of `name` hands to operand `slot`.
    static Symbol applied(const std::string& name, std::size_t slot, const Symbol& upstream)
    {
        return Symbol(name + std::to_string(slot) + "[" + upstream.text + "]");
    }
};

} // namespace retro::tapetest
