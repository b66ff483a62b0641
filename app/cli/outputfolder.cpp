// SPDX-License-Identifier: Apache-2.0
#include "app/cli/outputfolder.h"

#include "core/base/file.h"

namespace retro::app
{

namespace
{

constexpr int kFoldersBelow = 3; // opened/<node>/, relevance/, checkpoints/, lut/

} // namespace

base::Result<base::FolderLock> holdFolder(const std::filesystem::path& folder)
{
    RETRO_CHECK(base::makeFolder(folder));
    RETRO_TRY(base::FolderLock lock, base::FolderLock::alone(folder));
    base::removeLeftovers(folder, kFoldersBelow);
    return lock;
}

base::Result<base::FolderLock> holdItemFolder(const std::filesystem::path& folder)
{
    RETRO_CHECK(base::makeFolder(folder));
    RETRO_TRY(base::FolderLock lock, base::FolderLock::inTurn(folder));
    base::removeLeftovers(folder, kFoldersBelow);
    return lock;
}

} // namespace retro::app
