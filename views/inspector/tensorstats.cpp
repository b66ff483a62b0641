// SPDX-License-Identifier: Apache-2.0
#include "views/inspector/tensorstats.h"

#include <algorithm>
#include <cmath>
#include <limits>

namespace retro::views
{

TensorStats statsOf(const tensor::Tensor& tensor)
{
    TensorStats stats;
    stats.count = tensor.size();
    stats.smallest = std::numeric_limits<double>::infinity();
    stats.largest = -stats.smallest;
    const tensor::Tensor plain = tensor.to(tensor::DType::Float64).contiguous();
    double squares = 0;
    for (const double v : plain.span<double>()) {
        if (!std::isfinite(v)) {
            (std::isnan(v) ? stats.nan : stats.infinite) += 1;
            continue;
        }
        stats.sum += v;
        squares += v * v;
        stats.smallest = std::min(stats.smallest, v);
        stats.largest = std::max(stats.largest, v);
    }
    const std::int64_t finite = stats.count - stats.nan - stats.infinite;
    if (finite == 0) {
        stats.smallest = stats.largest = 0;
        return stats;
    }
    stats.mean = stats.sum / static_cast<double>(finite);
    stats.norm = std::sqrt(squares);
    return stats;
}

double Histogram::valueOf(std::size_t bin) const
{
    return low + (static_cast<double>(bin) + 0.5) * (high - low) / static_cast<double>(counts.size());
}

std::int64_t Histogram::largestCount() const
{
    return counts.empty() ? 0 : *std::max_element(counts.begin(), counts.end());
}

double Histogram::heightOf(std::size_t bin) const
{
    const std::int64_t largest = largestCount();
    return largest == 0 ? 0 : std::log1p(static_cast<double>(counts[bin])) / std::log1p(static_cast<double>(largest));
}

Histogram histogramOf(const tensor::Tensor& tensor, const TensorStats& stats, std::size_t bins)
{
    Histogram histogram;
    histogram.counts.assign(bins, 0);
    histogram.low = stats.smallest;
    histogram.high = stats.largest;
    if (stats.smallest < 0 && stats.largest > 0) {
        histogram.high = std::max(-stats.smallest, stats.largest);
        histogram.low = -histogram.high;
    }
    const double span = histogram.high - histogram.low;
    const tensor::Tensor plain = tensor.to(tensor::DType::Float64).contiguous();
    for (const double v : plain.span<double>()) {
        if (!std::isfinite(v)) {
            continue;
        }
        const double t = span > 0 ? (v - histogram.low) / span : 0.5;
        const auto bin = static_cast<std::size_t>(std::clamp(t, 0.0, 1.0) * static_cast<double>(bins));
        ++histogram.counts[std::min(bin, bins - 1)];
    }
    return histogram;
}

} // namespace retro::views
