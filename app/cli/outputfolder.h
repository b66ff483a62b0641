// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/base/folderlock.h"
#include "core/base/result.h"

#include <filesystem>
#include <optional>
#include <utility>

namespace retro::app
{

/// A folder for results that this process holds. When that ends and nothing was written into a folder that was made for
/// it, the folder goes as well.
class HeldFolder
{
public:
    HeldFolder(base::FolderLock lock, std::filesystem::path made) : m_lock(std::move(lock)), m_made(std::move(made)) {}
    HeldFolder(HeldFolder&& other) noexcept;
    HeldFolder& operator=(HeldFolder&&) = delete;
    HeldFolder(const HeldFolder&) = delete;
    HeldFolder& operator=(const HeldFolder&) = delete;
    ~HeldFolder();

private:
    std::optional<base::FolderLock> m_lock;
    std::filesystem::path m_made; ///< empty when the folder was there before
};

/// Makes a folder for results, holds it for this process alone, and removes what killed calls left in it. To be kept
/// until everything is written. Errors (Output): another process holds it, it cannot be made.
[[nodiscard]] base::Result<HeldFolder> holdFolder(const std::filesystem::path& folder);

/// The same for one item of a batch, which waits until no other process is at it.
[[nodiscard]] base::Result<HeldFolder> holdItemFolder(const std::filesystem::path& folder);

/// Removes what killed calls left in a folder of results and below. Files that somebody writes now stay.
void removeLeftovers(const std::filesystem::path& folder);

} // namespace retro::app
