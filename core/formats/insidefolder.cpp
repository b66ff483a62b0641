// SPDX-License-Identifier: Apache-2.0
#include "core/formats/insidefolder.h"

#include <algorithm>
#include <new>
#include <system_error>

namespace retro::formats
{

namespace fs = std::filesystem;

bool leavesFolder(const fs::path& location)
{
    return location.is_absolute() || location.has_root_name() ||
           std::find(location.begin(), location.end(), "..") != location.end();
}

bool isInsideFolder(const fs::path& location, const fs::path& folder)
{
    std::error_code ec;
    const fs::path root = fs::canonical(folder.empty() ? fs::path(".") : folder, ec);
    const fs::path file = ec ? fs::path() : fs::canonical(root / location, ec);
    if (ec == std::errc::not_enough_memory) {
        throw std::bad_alloc(); // nothing is said of the place
    }
    if (ec) {
        return false;
    }
    const auto [inFolder, inFile] = std::mismatch(root.begin(), root.end(), file.begin(), file.end());
    return inFolder == root.end() && inFile != file.end();
}

} // namespace retro::formats
