// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "views/timeline/promisebars.h"

#include <cstdint>
#include <vector>

namespace retro::views
{

/// Visits that stand one by one below the densities of a long run.
inline constexpr std::uint32_t kLensVisits = 60;
/// A run with at most as many visits shows them one by one anyway.
inline constexpr std::uint32_t kFewestForLens = 4 * kLensVisits;
/// Rows of promises in the lens; what has none is counted.
inline constexpr std::uint32_t kLensRows = 6;

/// Visits first … last, the last excluded.
struct LensRange
{
    std::uint32_t first = 0;
    std::uint32_t last = 0;
    bool operator==(const LensRange&) const = default;
};
/// What the lens shows while the line stands at a place, in visits: it moves by a third of itself, so that it rests
/// while the line is near its middle. A function of the place alone.
[[nodiscard]] LensRange lensAround(double place, std::uint32_t visits);

/// Promises that live in a part of a run, each with a row of its own as long as there is one.
struct LensBars
{
    std::vector<PromiseBar> bars; ///< rows below kLensRows
    std::uint32_t others = 0;     ///< that have none
};
/// O(bars).
[[nodiscard]] LensBars lensBars(const PromiseBars& all, const LensRange& range);

} // namespace retro::views
