// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/layout/geometry.h"

#include <cstdint>
#include <span>
#include <vector>

namespace retro::layout
{

/// A stretch of a sequence that consists of `count` equal blocks.
struct Period
{
    Index first = 0;  ///< where the first block begins
    Index length = 0; ///< of a block
    Index count = 0;
    [[nodiscard]] Index end() const { return first + length * count; }
    bool operator==(const Period&) const = default;
};

struct PeriodOptions
{
    Index leastLength = 2;  ///< of a block
    Index mostLength = 256; ///< of a block
    Index leastCount = 3;
    Index leastCovered = 24; ///< elements in all blocks together
};

/// Stretches that repeat, longest first, cut so that none overlaps; then in the order of the sequence. Of several
/// periods of one stretch the shortest. `costs`: one entry per place between elements (costs[i] = before element i);
/// blocks begin where that is least. O(elements · mostLength).
[[nodiscard]] std::vector<Period> findPeriods(std::span<const std::uint64_t> marks, std::span<const Index> costs,
                                              const PeriodOptions& options = {});

} // namespace retro::layout
