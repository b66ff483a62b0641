// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "kernels/lut/hostdevice.h"

#include <cstdint>

namespace retro::lut
{

/// The least certain comparison of a detector: which bit, and its signed difference. Bit −1: there is none, because all
/// pairs are unused or not a number.
template <class T>
struct Weakest
{
    std::int32_t bit = -1;
    T delta = 0;
};

/// |u|; a NaN stays one.
template <class T>
RETRO_HOST_DEVICE constexpr T magnitude(T u)
{
    return u < T(0) ? -u : (u == T(0) ? T(0) : u);
}

/// The bit of a difference: 1 where it is above zero; 0, −0 and NaN give 0.
template <class T>
RETRO_HOST_DEVICE constexpr std::uint32_t bitOf(T u)
{
    return u > T(0) ? 1U : 0U;
}

/// Takes bit `bit` with difference `u` into account. The first of equally small ones stays; NaN never is the weakest.
template <class T>
RETRO_HOST_DEVICE constexpr void consider(Weakest<T>& weakest, std::int32_t bit, T u)
{
    const bool isFirst = weakest.bit < 0 && u == u;
    if (isFirst || (weakest.bit >= 0 && magnitude(u) < magnitude(weakest.delta))) {
        weakest.bit = bit;
        weakest.delta = u;
    }
}

/// Derivative of the share that the other row has (0.5 / (1 + |u|)), with the sign of the side: u = 0 counts as below.
template <class T>
RETRO_HOST_DEVICE constexpr T slope(T u)
{
    const T distance = T(1) + magnitude(u);
    const T share = T(0.5) / (distance * distance);
    return u > T(0) ? share : -share;
}

/// How much a comparison may count when relevance is shared out: 1 at its boundary, towards 0 far from it.
template <class T>
RETRO_HOST_DEVICE constexpr T doubt(T u)
{
    return T(1) / (T(1) + magnitude(u));
}

/// The row on the other side of bit `bit`; the row itself where there is no such bit.
RETRO_HOST_DEVICE constexpr std::uint32_t flipped(std::uint32_t row, std::int32_t bit)
{
    return bit < 0 ? row : row ^ (std::uint32_t{1} << bit);
}

/// The row of a pair of positions: the later one (query) in the high bits, then the earlier one (key), then the code of
/// their distance.
RETRO_HOST_DEVICE constexpr std::uint32_t pairRow(std::uint32_t query, std::uint32_t key, std::uint32_t code,
                                                  std::uint32_t bits, std::uint32_t codeBits)
{
    return (query << (bits + codeBits)) | (key << codeBits) | code;
}

/// True when `a` is strictly less certain than `b`. What has no comparison is never less certain than anything.
template <class T>
RETRO_HOST_DEVICE constexpr bool isWeaker(const Weakest<T>& a, const Weakest<T>& b)
{
    if (a.bit < 0) {
        return false;
    }
    return b.bit < 0 || magnitude(a.delta) < magnitude(b.delta);
}

/// What a pair of positions sends back, and to where.
template <class T>
struct PairChoice
{
    bool isQuery = false;      ///< the later position is the weaker; at a tie it is the earlier one
    std::int32_t bit = -1;     ///< of the whole row of the pair; −1 = no alternative
    std::int32_t codeBit = -1; ///< bit of the positional code, when it is strictly the weakest; else −1
};

/// Which bits of a pair's row are flipped for its gradient. `bits` and `codeBits` as in pairRow.
template <class T>
RETRO_HOST_DEVICE constexpr PairChoice<T> choosePair(const Weakest<T>& query, const Weakest<T>& key,
                                                     const Weakest<T>& code, std::uint32_t bits, std::uint32_t codeBits)
{
    PairChoice<T> choice;
    choice.isQuery = isWeaker(query, key);
    const Weakest<T>& chosen = choice.isQuery ? query : key;
    if (chosen.bit >= 0) {
        choice.bit = chosen.bit + static_cast<std::int32_t>(codeBits + (choice.isQuery ? bits : 0));
    }
    if (isWeaker(code, query) && isWeaker(code, key)) {
        choice.codeBit = code.bit;
    }
    return choice;
}

} // namespace retro::lut
