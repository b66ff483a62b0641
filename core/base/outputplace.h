// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/base/result.h"

#include <filesystem>

namespace retro::base
{

/// For who opens, changes or removes an output in another way than through writeFile() and writeThrough(). Errors
/// (Output): `path` is there and is no regular file (a pipe, a device or a folder), or a link that leads nowhere.
/// Errors (Usage): it is an input (inputfiles.h).
[[nodiscard]] Result<void> checkOutputPlace(const std::filesystem::path& path);

} // namespace retro::base
