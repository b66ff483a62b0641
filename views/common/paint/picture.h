// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/base/result.h"
#include "core/tensor/tensor.h"

#include <QImage>

#include <cstdint>
#include <filesystem>
#include <map>
#include <string>
#include <vector>

namespace retro::views
{

/// A decoded picture: 8-bit RGB rows without gaps.
struct RgbPicture
{
    int width = 0;
    int height = 0;
    std::vector<std::uint8_t> rgb; ///< width · height · 3
};

/// Scaled to exactly width × height (area averaging when it shrinks, bilinear when it grows).
[[nodiscard]] RgbPicture resized(const RgbPicture& picture, int width, int height);

[[nodiscard]] QImage toImage(const RgbPicture& picture);
[[nodiscard]] RgbPicture toPicture(const QImage& image);

/// Text chunks of a written picture: keyword → text ("model", "step", "rules", "scale").
using PictureTexts = std::map<std::string, std::string>;

/// Writes PNG or JPEG by the ending, through a temporary name. Errors: Usage (ending), Output.
[[nodiscard]] base::Result<void> writePicture(const std::filesystem::path& path, const QImage& image,
                                              const PictureTexts& texts = {});

/// The picture that an input tensor (1 × C × H × W or C × H × W, C = 1 or 3; channels last when `isChannelsLast`)
/// stands for: pixel = (value · deviation + mean − low) / (high − low), clamped. Empty lists = mean 0, deviation 1.
/// `isBgr` swaps the outer channels. Null when the shape is no picture.
[[nodiscard]] QImage pictureOfTensor(const tensor::Tensor& input, double low, double high,
                                     const std::vector<double>& mean, const std::vector<double>& deviation,
                                     bool isChannelsLast = false, bool isBgr = false, std::int64_t sample = 0);

} // namespace retro::views
