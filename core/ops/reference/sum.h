// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/ops/kernel/registers.h"

#include <array>
#include <cstddef>
#include <cstdint>

namespace retro::ops::reference
{

inline constexpr std::int64_t kPairwiseBlock = 128; ///< elements that are summed in lanes
inline constexpr std::int64_t kPairwiseLanes = 8;

/// Of a block of pairwiseSum().
template <class A, class T, class F>
inline A laneSum(const T* v, std::int64_t n, const F& f)
{
    constexpr std::int64_t kLanes = kPairwiseLanes;
    std::array<A, kLanes> lanes{};
    std::int64_t i = 0;
    for (; i + kLanes <= n; i += kLanes) {
        for (std::int64_t lane = 0; lane < kLanes; ++lane) {
            lanes[static_cast<std::size_t>(lane)] += f(v[i + lane]);
        }
    }
    for (std::int64_t lane = 0; i < n; ++i, ++lane) {
        lanes[static_cast<std::size_t>(lane)] += f(v[i]);
    }
    return ((lanes[0] + lanes[1]) + (lanes[2] + lanes[3])) + ((lanes[4] + lanes[5]) + (lanes[6] + lanes[7]));
}

/// Σ f(v[i]) in A, pairwise over blocks: the order depends on n alone, the error grows with log n.
template <class A, class T, class F>
A pairwiseSum(const T* v, std::int64_t n, const F& f)
{
    constexpr std::int64_t kBlock = kPairwiseBlock;
    if (n > kBlock) {
        const std::int64_t half = (n / 2 + kBlock - 1) / kBlock * kBlock;
        return pairwiseSum<A>(v, half, f) + pairwiseSum<A>(v + half, n - half, f);
    }
    if (n < kPairwiseLanes) {
        return laneSum<A>(v, n, f);
    }
    A sum{};
    onWidestRegisters([v, n, f, place = &sum] { *place = laneSum<A>(v, n, f); });
    return sum;
}

template <class A, class T>
A pairwiseSum(const T* v, std::int64_t n)
{
    return pairwiseSum<A>(v, n, [](T x) { return static_cast<A>(x); });
}

} // namespace retro::ops::reference
