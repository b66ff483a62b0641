// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "views/common/run/regionfacts.h"

#include <vector>

namespace retro::views
{

/// What every class of a row of scores would put into the region if it were explained in the place of the target: its
/// score times its weight, the largest first; `relevance` is then the score. Empty where the value is no such row, or
/// was not kept.
[[nodiscard]] std::vector<RegionChannel> sharesOfClasses(const RegionFacts& region, base::ValueId scores,
                                                         std::size_t most);

} // namespace retro::views
