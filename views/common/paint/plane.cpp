// SPDX-License-Identifier: Apache-2.0
#include "views/common/paint/plane.h"

#include <algorithm>
#include <cmath>
#include <limits>

namespace retro::views
{

namespace
{

std::vector<double> doublesOf(const tensor::Tensor& t)
{
    const tensor::Tensor plain = t.to(tensor::DType::Float64).contiguous();
    const auto span = plain.span<double>();
    return {span.begin(), span.end()};
}

struct ImageShape
{
    std::int64_t samples = 1;
    std::int64_t channels = 1;
    std::int64_t height = 0;
    std::int64_t width = 0;
};

base::Result<ImageShape> imageShape(const tensor::Shape& shape, bool isChannelsLast)
{
    if (shape.size() < 2 || shape.size() > 4 || tensor::elementCount(shape) == 0) {
        return base::usageError("this tensor is no picture; its shape is " + tensor::toText(shape));
    }
    ImageShape image;
    if (shape.size() == 2) {
        image.height = shape[0];
        image.width = shape[1];
        return image;
    }
    const std::size_t at = shape.size() - 3;
    image.samples = at == 1 ? shape[0] : 1;
    image.channels = isChannelsLast ? shape[at + 2] : shape[at];
    image.height = isChannelsLast ? shape[at] : shape[at + 1];
    image.width = isChannelsLast ? shape[at + 1] : shape[at + 2];
    return image;
}

tensor::Shape withoutBatch(tensor::Shape shape)
{
    if (shape.size() > 1 && shape.front() == 1) {
        shape.erase(shape.begin());
    }
    return shape;
}

// Rank 0 and 1 become rows; a long row is broken into a block.
void foldVector(std::int64_t count, int maxRow, SliceGrid& grid)
{
    const bool isShort = count <= maxRow;
    const auto side = static_cast<int>(std::ceil(std::sqrt(static_cast<double>(count))));
    grid.sliceWidth = isShort ? static_cast<int>(count) : side;
    grid.sliceHeight = isShort ? 1 : static_cast<int>((count + side - 1) / side);
}

// The number of columns whose picture comes closest to the wanted shape and leaves few cells empty.
int columnsFor(const SliceGrid& grid, double aspect)
{
    int best = 1;
    double least = std::numeric_limits<double>::infinity();
    for (std::int64_t columns = 1; columns <= grid.slices; ++columns) {
        const std::int64_t rows = (grid.slices + columns - 1) / columns;
        const double shape =
            static_cast<double>(columns * grid.sliceWidth) / static_cast<double>(rows * grid.sliceHeight);
        const double waste = 1 - static_cast<double>(grid.slices) / static_cast<double>(columns * rows);
        const double badness = std::abs(std::log(shape / aspect)) + waste;
        if (badness < least) {
            least = badness;
            best = static_cast<int>(columns);
        }
    }
    return best;
}

void copySlice(const std::vector<double>& all, std::size_t first, SliceGrid& grid, std::int64_t slice)
{
    const auto column = static_cast<int>(slice % grid.columns);
    const auto row = static_cast<int>(slice / grid.columns);
    const int left = column * (grid.sliceWidth + 1);
    const int top = row * (grid.sliceHeight + 1);
    for (int y = 0; y < grid.sliceHeight; ++y) {
        for (int x = 0; x < grid.sliceWidth; ++x) {
            const std::size_t from = first + static_cast<std::size_t>(y) * static_cast<std::size_t>(grid.sliceWidth) +
                                     static_cast<std::size_t>(x);
            const std::size_t to = static_cast<std::size_t>(top + y) * static_cast<std::size_t>(grid.plane.width) +
                                   static_cast<std::size_t>(left + x);
            if (from < all.size()) {
                grid.plane.values[to] = all[from];
            }
        }
    }
}

} // namespace

base::Result<Plane> channelSum(const tensor::Tensor& relevance, std::int64_t sample, bool isChannelsLast)
{
    RETRO_TRY(const ImageShape shape, imageShape(relevance.shape(), isChannelsLast));
    if (sample < 0 || sample >= shape.samples) {
        return base::usageError("there is no sample " + std::to_string(sample) + "; the tensor holds " +
                                std::to_string(shape.samples));
    }
    const std::vector<double> all = doublesOf(relevance);
    Plane plane{static_cast<int>(shape.width), static_cast<int>(shape.height), {}};
    const auto area = static_cast<std::size_t>(shape.width * shape.height);
    const auto channels = static_cast<std::size_t>(shape.channels);
    const std::size_t first = static_cast<std::size_t>(sample) * area * channels;
    plane.values.assign(area, 0.0);
    for (std::size_t c = 0; c < channels; ++c) {
        for (std::size_t i = 0; i < area; ++i) {
            plane.values[i] += all[first + (isChannelsLast ? i * channels + c : c * area + i)];
        }
    }
    return plane;
}

SliceGrid sliceGrid(const tensor::Tensor& tensor, std::int64_t maxSlices, int maxRow, double aspect)
{
    SliceGrid grid;
    const tensor::Shape shape = withoutBatch(tensor.shape());
    const std::int64_t count = tensor::elementCount(shape);
    if (count == 0) {
        return grid;
    }
    if (shape.size() < 2) {
        foldVector(count, maxRow, grid);
    } else {
        grid.sliceHeight = static_cast<int>(shape[shape.size() - 2]);
        grid.sliceWidth = static_cast<int>(shape.back());
        grid.allSlices = count / (shape[shape.size() - 2] * shape.back());
    }
    grid.slices = std::min(grid.allSlices, maxSlices);
    grid.columns = columnsFor(grid, aspect);
    const auto rows = static_cast<int>((grid.slices + grid.columns - 1) / grid.columns);
    grid.plane.width = grid.columns * (grid.sliceWidth + 1) - 1;
    grid.plane.height = rows * (grid.sliceHeight + 1) - 1;
    grid.plane.values.assign(static_cast<std::size_t>(grid.plane.width) * static_cast<std::size_t>(grid.plane.height),
                             std::numeric_limits<double>::quiet_NaN());
    const std::vector<double> all = doublesOf(tensor);
    const std::size_t area = static_cast<std::size_t>(grid.sliceWidth) * static_cast<std::size_t>(grid.sliceHeight);
    for (std::int64_t slice = 0; slice < grid.slices; ++slice) {
        copySlice(all, static_cast<std::size_t>(slice) * area, grid, slice);
    }
    return grid;
}

double Scale::toUnit(double v) const
{
    if (limit <= 0 || std::isnan(v)) {
        return 0;
    }
    const double unit = std::clamp(v / limit, -1.0, 1.0);
    return gamma == 1 ? unit : std::copysign(std::pow(std::abs(unit), gamma), unit);
}

Scale symmetricScale(std::span<const double> values, double percentile)
{
    Scale scale;
    scale.percentile = percentile;
    std::vector<double> magnitudes;
    magnitudes.reserve(values.size());
    for (const double v : values) {
        if (std::isfinite(v)) {
            magnitudes.push_back(std::abs(v));
        } else {
            ++scale.notANumber;
        }
    }
    if (magnitudes.empty()) {
        return scale;
    }
    const double last = static_cast<double>(magnitudes.size() - 1);
    const auto rank = static_cast<std::ptrdiff_t>(std::ceil(last * std::clamp(percentile, 0.0, 100.0) / 100));
    std::nth_element(magnitudes.begin(), magnitudes.begin() + rank, magnitudes.end());
    scale.limit = magnitudes[static_cast<std::size_t>(rank)];
    if (scale.limit <= 0) {
        scale.limit = *std::max_element(magnitudes.begin(), magnitudes.end());
    }
    scale.clipped = std::count_if(magnitudes.begin(), magnitudes.end(), [&](double m) { return m > scale.limit; });
    return scale;
}

Scale scaleWithLimit(std::span<const double> values, double limit)
{
    Scale scale;
    scale.limit = limit;
    for (const double v : values) {
        scale.notANumber += std::isfinite(v) ? 0 : 1;
        scale.clipped += std::isfinite(v) && std::abs(v) > limit ? 1 : 0;
    }
    return scale;
}

} // namespace retro::views
