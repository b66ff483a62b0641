// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/base/result.h"

#include <filesystem>
#include <string>

namespace retro::formats
{

/// What a model or its card names lies in their folder or below: who opens a file that was sent opens nothing else.

/// True for an absolute path, and for one with "..".
[[nodiscard]] bool leavesFolder(const std::filesystem::path& location);

/// True when the file, links followed, lies in `folder` or below. False also when it is not there.
[[nodiscard]] bool isInsideFolder(const std::filesystem::path& location, const std::filesystem::path& folder);

} // namespace retro::formats
