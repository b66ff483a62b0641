// SPDX-License-Identifier: Apache-2.0
#include "core/diagnosis/outlier.h"

#include "core/diagnosis/statistics.h"

#include <algorithm>
#include <cmath>

namespace retro::diagnosis
{

std::optional<Outlier> outlierOf(const std::vector<double>& sizes)
{
    constexpr std::size_t kLeastSizes = 3;    // a median needs so many (section 4.1, model.channel-outlier)
    constexpr double kLeastBesideOthers = 10; // times the upper quartile of the others: alone
    const double middle = median(sizes);
    if (sizes.size() < kLeastSizes || !(middle > 0)) {
        return std::nullopt;
    }
    const auto largest = std::ranges::max_element(sizes);
    std::vector<double> others = sizes;
    others.erase(others.begin() + (largest - sizes.begin()));
    const auto quartile = others.begin() + static_cast<std::ptrdiff_t>((3 * (others.size() - 1) + 3) / 4);
    std::nth_element(others.begin(), quartile, others.end());
    Outlier outlier;
    outlier.at = static_cast<std::size_t>(largest - sizes.begin());
    outlier.ratio = *largest / middle;
    outlier.statistic = *largest > kLeastBesideOthers * *quartile ? outlier.ratio : *largest / *quartile;
    return outlier;
}

Apart apartOf(const std::vector<double>& logarithms, std::size_t one)
{
    constexpr double kOfNormal = 1.4826; // deviation / median distance, of a normal distribution
    constexpr double kLeastDeviation = 0.1;
    std::vector<double> others = logarithms;
    others.erase(others.begin() + static_cast<std::ptrdiff_t>(one));
    Apart apart{median(others)};
    for (double& other : others) {
        other = std::abs(other - apart.median);
    }
    apart.deviations = std::abs(logarithms[one] - apart.median) / std::max(kLeastDeviation, kOfNormal * median(others));
    return apart;
}

} // namespace retro::diagnosis
