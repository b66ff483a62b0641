// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/base/result.h"
#include "core/engine/input/pictureinput.h"

#include <QImage>

#include <filesystem>

namespace retro::app
{

/// As engine::decodePicture(), and pictures that are built into the program (":/…").
[[nodiscard]] base::Result<engine::PixelArray> decodePicture(const std::filesystem::path& path, bool asStored = false);

/// The picture that an input tensor stands for, first sample; null when it has no picture's shape.
[[nodiscard]] QImage pictureOfInput(const tensor::Tensor& input, const engine::PictureOptions& options);

} // namespace retro::app
