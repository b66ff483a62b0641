// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

namespace retro::ops
{

/// A number that is not 0 and where the row of weights begins that it is multiplied by.
struct WeightedEntry
{
    float value = 0;
    std::uint32_t row = 0;
};

/// Columns of weights that are summed at a time: most, and half of that.
inline constexpr std::int64_t kListColumns = 64;

/// To each of `count` places, `step` numbers apart from `out` on, adds the sum of its entries' values times their rows
/// of `columns` weights (kListColumns or half of that). The entries of place i are those from starts[i] to
/// starts[i + 1], and are added in their order.
void addWeightedLists(const WeightedEntry* entries, const std::int64_t* starts, std::int64_t count,
                      const float* weights, std::int64_t columns, float* out, std::int64_t step);

} // namespace retro::ops
