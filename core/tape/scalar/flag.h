// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

namespace retro::tape
{

/// Reachability as a scalar: + is or, × is and. A reverse pass over it tells what reaches a seed.
struct Flag
{
    bool isSet = false;

    Flag() = default;
    Flag(std::int64_t value) : isSet(value != 0) {}
    bool operator==(const Flag&) const = default;
    friend Flag operator+(Flag a, Flag b) { return Flag(a.isSet || b.isSet ? 1 : 0); }
    friend Flag operator*(Flag a, Flag b) { return Flag(a.isSet && b.isSet ? 1 : 0); }
    Flag& operator+=(Flag other) { return *this = *this + other; }
};

} // namespace retro::tape
