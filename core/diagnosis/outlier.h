// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <optional>
#include <vector>

namespace retro::diagnosis
{

/// The largest of several sizes, beside the others.
struct Outlier
{
    std::size_t at = 0;
    double ratio = 0;     ///< to the median of all
    double statistic = 0; ///< the ratio where it stands alone; else that to the upper quartile of the others: where
                          ///< training let half of the channels die, the living ones are no outliers
};

/// Nothing for fewer than three sizes, or where the median is 0.
[[nodiscard]] std::optional<Outlier> outlierOf(const std::vector<double>& sizes);

/// One number beside all others.
struct Apart
{
    double median = 0;     ///< of the others
    double deviations = 0; ///< how far it lies from that, in robust deviations of the others (1.4826 · median distance)
};

/// A deviation is at least a tenth: numbers are logarithms of sizes.
[[nodiscard]] Apart apartOf(const std::vector<double>& logarithms, std::size_t one);

} // namespace retro::diagnosis
