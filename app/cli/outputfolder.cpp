// SPDX-License-Identifier: Apache-2.0
#include "app/cli/outputfolder.h"

#include "core/base/file.h"

namespace retro::app
{

namespace fs = std::filesystem;

using base::Result;

namespace
{

Result<HeldFolder> held(const fs::path& folder, Result<base::FolderLock> (*hold)(const fs::path&))
{
    std::error_code ec;
    const bool isNew = !fs::exists(folder, ec);
    RETRO_CHECK(base::makeFolder(folder));
    RETRO_TRY(base::FolderLock lock, hold(folder));
    removeLeftovers(folder);
    return HeldFolder(std::move(lock), isNew ? folder : fs::path());
}

} // namespace

void removeLeftovers(const fs::path& folder)
{
    constexpr int kFoldersBelow = 3; // opened/<node>/, relevance/, checkpoints/, lut/
    base::removeLeftovers(folder, kFoldersBelow);
}

HeldFolder::HeldFolder(HeldFolder&& other) noexcept
    : m_lock(std::exchange(other.m_lock, std::nullopt)), m_made(std::exchange(other.m_made, fs::path()))
{}

HeldFolder::~HeldFolder()
{
    m_lock.reset();
    std::error_code ignored;
    if (!m_made.empty()) {
        fs::remove(m_made, ignored); // not when something is in it
    }
}

Result<HeldFolder> holdFolder(const fs::path& folder) { return held(folder, &base::FolderLock::alone); }

Result<HeldFolder> holdItemFolder(const fs::path& folder) { return held(folder, &base::FolderLock::inTurn); }

} // namespace retro::app
