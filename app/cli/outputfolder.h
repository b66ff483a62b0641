// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/base/folderlock.h"
#include "core/base/result.h"

#include <filesystem>

namespace retro::app
{

/// Makes a folder for results, holds it for this process alone, and removes what killed calls left in it. To be kept
/// until everything is written. Errors (Output): another process holds it, it cannot be made.
[[nodiscard]] base::Result<base::FolderLock> holdFolder(const std::filesystem::path& folder);

/// The same for one item of a batch, which waits until no other process is at it.
[[nodiscard]] base::Result<base::FolderLock> holdItemFolder(const std::filesystem::path& folder);

} // namespace retro::app
