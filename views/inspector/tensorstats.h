// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/tensor/tensor.h"

#include <cstdint>
#include <vector>

namespace retro::views
{

/// Figures of a tensor, in double; NaN and infinities are counted and left out of the rest.
struct TensorStats
{
    std::int64_t count = 0;
    double sum = 0;
    double smallest = 0;
    double largest = 0;
    double mean = 0;
    double norm = 0; ///< L2
    std::int64_t nan = 0;
    std::int64_t infinite = 0;
};
[[nodiscard]] TensorStats statsOf(const tensor::Tensor& tensor);

/// Counts of values in equal bins over low…high; the last bin holds high too.
struct Histogram
{
    double low = 0;
    double high = 0;
    std::vector<std::int64_t> counts;

    /// Middle of a bin.
    [[nodiscard]] double valueOf(std::size_t bin) const;
    /// Height of a bin on a log scale, 0…1: log(1 + n) / log(1 + largest).
    [[nodiscard]] double heightOf(std::size_t bin) const;
    [[nodiscard]] std::int64_t largestCount() const;
};

/// `bins` bins, an odd number, over −m…m with m the largest magnitude when the values have both signs, so that zero has
/// a bin of its own; else over smallest…largest.
[[nodiscard]] Histogram histogramOf(const tensor::Tensor& tensor, const TensorStats& stats, std::size_t bins = 49);

} // namespace retro::views
