// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/base/result.h"
#include "core/engine/pictureinput.h"

#include <filesystem>

namespace retro::app
{

/// Decodes a .png or .jpg with Qt. Errors (Input): missing, not a picture, larger than the allocation limit.
[[nodiscard]] base::Result<engine::PixelArray> decodePicture(const std::filesystem::path& path);

} // namespace retro::app
