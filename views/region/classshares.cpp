// SPDX-License-Identifier: Apache-2.0
#include "views/region/classshares.h"

#include <algorithm>
#include <cmath>

namespace retro::views
{

std::vector<RegionChannel> sharesOfClasses(const RegionFacts& region, base::ValueId scores, std::size_t most)
{
    std::vector<RegionChannel> classes;
    const std::size_t at = scores.index();
    if (!scores.isValid() || at >= region.weights.size() || at >= region.run->values.size()) {
        return classes;
    }
    const tensor::Tensor& weights = region.weights[at];
    const tensor::Tensor& row = region.run->values[at];
    if (!weights.isValid() || !row.isValid() || row.rank() != 2 || row.shape() != weights.shape()) {
        return classes;
    }
    for (std::int64_t i = 0; i < row.shape()[1]; ++i) { // of sample 0
        classes.push_back({i, row.at(i) * weights.at(i), row.at(i)});
    }
    std::ranges::stable_sort(
        classes, [](const RegionChannel& a, const RegionChannel& b) { return std::abs(a.part) > std::abs(b.part); });
    classes.resize(std::min(most, classes.size()));
    return classes;
}

} // namespace retro::views
