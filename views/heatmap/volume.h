// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "views/common/paint/plane.h"
#include "views/common/viewcontext.h"

#include <QImage>

#include <optional>

namespace retro::views
{

/// A volume as slices: N × C × D × H × W, or channels last, of one sample, with more than one slice and picture.
[[nodiscard]] bool isVolumeShape(const tensor::Shape& shape, bool isChannelsLast);

/// The sums over the channels, slice beside slice; `slice` is one of them alone. Empty for other shapes.
[[nodiscard]] SliceGrid volumeSlices(const tensor::Tensor& volume, bool isChannelsLast, std::optional<int> slice);

/// Number of slices.
[[nodiscard]] int slicesOf(const tensor::Shape& shape, bool isChannelsLast);

/// What the model saw, grey, slice by slice as volumeSlices() lays them out; null where the input of the run is no
/// volume of this size.
[[nodiscard]] QImage volumePicture(const RunModel& model, const SliceGrid& grid, std::optional<int> slice);

/// Indices of a value at a pixel of the grid: all channels of a voxel; none on the lines between slices.
[[nodiscard]] std::optional<std::vector<std::int64_t>> voxelAt(const tensor::Shape& shape, const SliceGrid& grid,
                                                               std::optional<int> slice, const QPoint& pixel,
                                                               bool isChannelsLast);

} // namespace retro::views
