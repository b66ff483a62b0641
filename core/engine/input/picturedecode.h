// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/base/result.h"
#include "core/engine/input/pictureinput.h"

#include <filesystem>

namespace retro::engine
{

/// Decodes a picture by what its bytes say, as browsers show it: turned by its EXIF orientation, transparent parts on
/// white; or as it is stored. PNG and JPEG, and where Leptonica is installed BMP,
/// GIF (its first picture), TIFF (its first page) and WebP. Errors (Input) name the file: missing, no picture, damaged,
/// refused by formats::checkPictureFile(), Leptonica missing. Errors (Memory): no room.
[[nodiscard]] base::Result<PixelArray> decodePicture(const std::filesystem::path& path, bool asStored = false);

} // namespace retro::engine
