// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/base/result.h"
#include "core/tensor/tensor.h"

#include <cstdint>
#include <span>
#include <vector>

namespace retro::views
{

/// A picture of numbers: rows from top to bottom.
struct Plane
{
    int width = 0;
    int height = 0;
    std::vector<double> values; ///< width · height

    [[nodiscard]] bool isEmpty() const { return values.empty(); }
    [[nodiscard]] double at(int x, int y) const
    {
        return values[static_cast<std::size_t>(y) * static_cast<std::size_t>(width) + static_cast<std::size_t>(x)];
    }
};

/// Sum over the channels of an image tensor: N×C×H×W (sample `sample`), C×H×W, or H×W as it is; channels last when
/// `isChannelsLast`. Error (Usage): another rank, no elements, or no such sample.
[[nodiscard]] base::Result<Plane> channelSum(const tensor::Tensor& relevance, std::int64_t sample = 0,
                                             bool isChannelsLast = false);

/// Any tensor as a flat picture: the last two axes as rows and columns, all earlier ones as a near-square grid of
/// slices with one empty (NaN) line between them; rank 1 as one row, or as a near-square block when longer than
/// `maxRow`. The batch axis is dropped when it is 1. At most `maxSlices` slices are laid out, so that the whole is
/// about `aspect` times as wide as high.
struct SliceGrid
{
    Plane plane;
    int columns = 1;            ///< slices per row of the grid
    std::int64_t slices = 1;    ///< slices shown
    std::int64_t allSlices = 1; ///< slices that exist
    int sliceWidth = 0;
    int sliceHeight = 0;
};
[[nodiscard]] SliceGrid sliceGrid(const tensor::Tensor& tensor, std::int64_t maxSlices = 256, int maxRow = 64,
                                  double aspect = 1);

/// A scale from −limit to +limit.
struct Scale
{
    double limit = 0;         ///< 0 when every value is 0
    double percentile = 100;  ///< share of the values with |v| ≤ limit that was asked for
    std::int64_t clipped = 0; ///< values beyond the limit
    std::int64_t notANumber = 0;
    double gamma = 1; ///< exponent of the magnitude before colours: below 1 lifts faint values

    /// A value as −1…1, clamped, its magnitude raised to `gamma`; 0 when the scale is empty.
    [[nodiscard]] double toUnit(double v) const;
};

/// The symmetric scale whose limit is the `percentile` of |v| (100 = the largest). NaN and infinities are left out.
[[nodiscard]] Scale symmetricScale(std::span<const double> values, double percentile = 100);

/// The scale of a given limit over these values.
[[nodiscard]] Scale scaleWithLimit(std::span<const double> values, double limit);

} // namespace retro::views
