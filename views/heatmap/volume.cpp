// SPDX-License-Identifier: Apache-2.0
#include "views/heatmap/volume.h"

#include <algorithm>
#include <cmath>
#include <utility>

namespace retro::views
{

namespace
{

constexpr std::int64_t kMostSlices = 4096;

bool hasVolumeLayout(const RunModel& model) { return model.input().layout == QLatin1String("NHWC"); }

/// The least and the largest finite number; 0 and 0 where there is none.
std::pair<double, double> finiteRange(const std::vector<double>& values)
{
    double low = 0;
    double high = 0;
    bool isFirst = true;
    for (const double value : values) {
        if (std::isfinite(value)) {
            low = isFirst ? value : std::min(low, value);
            high = isFirst ? value : std::max(high, value);
            isFirst = false;
        }
    }
    return {low, high};
}

/// The numbers as greys, the least black and the largest white; what is not finite is white too.
QImage greyPicture(const Plane& plane)
{
    const auto [low, high] = finiteRange(plane.values);
    QImage picture(plane.width, plane.height, QImage::Format_RGB32);
    for (int y = 0; y < picture.height(); ++y) {
        auto* line = reinterpret_cast<QRgb*>(picture.scanLine(y));
        for (int x = 0; x < picture.width(); ++x) {
            const double value = plane.at(x, y);
            const double share = high > low ? (value - low) / (high - low) : 0.5;
            const int grey = std::isfinite(value) ? static_cast<int>(std::lround(255 * share)) : 255;
            line[x] = qRgb(grey, grey, grey);
        }
    }
    return picture;
}

} // namespace

bool isVolumeShape(const tensor::Shape& shape, bool isChannelsLast)
{
    if (shape.size() != 5 || shape[0] != 1) {
        return false;
    }
    const std::size_t first = isChannelsLast ? 1 : 2;
    return shape[first] > 1 && shape[first + 1] > 1 && shape[first + 2] > 1;
}

int slicesOf(const tensor::Shape& shape, bool isChannelsLast)
{
    return isVolumeShape(shape, isChannelsLast) ? static_cast<int>(shape[isChannelsLast ? 1 : 2]) : 0;
}

SliceGrid volumeSlices(const tensor::Tensor& volume, bool isChannelsLast, std::optional<int> slice)
{
    const tensor::Shape& shape = volume.shape();
    if (!isVolumeShape(shape, isChannelsLast)) {
        return {};
    }
    const std::size_t first = isChannelsLast ? 1 : 2;
    const std::int64_t channels = shape[isChannelsLast ? 4 : 1];
    const std::int64_t pixels = shape[first + 1] * shape[first + 2];
    const std::int64_t all = shape[first] * pixels;
    const std::int64_t from = slice ? *slice * pixels : 0;
    const std::int64_t count = slice ? pixels : all;
    if (from < 0 || from + count > all) {
        return {};
    }
    const tensor::Tensor plain = volume.to(tensor::DType::Float64).contiguous();
    const auto values = plain.span<double>();
    std::vector<double> sums(static_cast<std::size_t>(count), 0);
    for (std::int64_t c = 0; c < channels; ++c) {
        for (std::int64_t i = 0; i < count; ++i) {
            const std::int64_t voxel = from + i;
            sums[static_cast<std::size_t>(i)] +=
                values[static_cast<std::size_t>(isChannelsLast ? voxel * channels + c : c * all + voxel)];
        }
    }
    const tensor::Shape drawn = slice ? tensor::Shape{1, shape[first + 1], shape[first + 2]}
                                      : tensor::Shape{shape[first], shape[first + 1], shape[first + 2]};
    return sliceGrid(tensor::Tensor::of<double>(drawn, sums), kMostSlices);
}

QImage volumePicture(const RunModel& model, const SliceGrid& grid, std::optional<int> slice)
{
    if (model.graph().inputs().size() != 1) {
        return {};
    }
    const tensor::Tensor* input = model.forwardValue(model.graph().inputs().front());
    if (input == nullptr || !tensor::isFloating(input->dtype())) {
        return {};
    }
    const SliceGrid seen = volumeSlices(*input, hasVolumeLayout(model), slice);
    if (seen.plane.width != grid.plane.width || seen.plane.height != grid.plane.height || seen.plane.isEmpty()) {
        return {};
    }
    return greyPicture(seen.plane);
}

std::optional<std::vector<std::int64_t>> voxelAt(const tensor::Shape& shape, const SliceGrid& grid,
                                                 std::optional<int> slice, const QPoint& pixel, bool isChannelsLast)
{
    if (!isVolumeShape(shape, isChannelsLast) || grid.sliceWidth <= 0 || grid.sliceHeight <= 0) {
        return std::nullopt;
    }
    const int x = pixel.x() % (grid.sliceWidth + 1);
    const int y = pixel.y() % (grid.sliceHeight + 1);
    const std::int64_t shown =
        std::int64_t{pixel.y() / (grid.sliceHeight + 1)} * grid.columns + pixel.x() / (grid.sliceWidth + 1);
    if (x >= grid.sliceWidth || y >= grid.sliceHeight || shown >= grid.slices) {
        return std::nullopt;
    }
    const std::int64_t depth = slice ? *slice : shown;
    return isChannelsLast ? std::vector<std::int64_t>{0, depth, y, x, -1}
                          : std::vector<std::int64_t>{0, -1, depth, y, x};
}

} // namespace retro::views
