// SPDX-License-Identifier: Apache-2.0
#include "core/layout/layoutfolder.h"

#include "core/base/file.h"
#include "core/base/inputfiles.h"
#include "core/layout/layoutfile.h"

#include <algorithm>
#include <system_error>
#include <vector>

namespace retro::layout
{

namespace
{

constexpr const char* kEnding = ".layout";

struct KeptFile
{
    std::filesystem::file_time_type used;
    std::filesystem::path path;
    std::uint64_t bytes = 0;
};

std::vector<KeptFile> filesIn(const std::filesystem::path& folder)
{
    std::vector<KeptFile> files;
    std::error_code error;
    for (std::filesystem::directory_iterator at(folder, error), end; !error && at != end; at.increment(error)) {
        std::error_code gone; // another program may remove it meanwhile
        KeptFile file{at->last_write_time(gone), at->path(), 0};
        file.bytes = gone ? 0 : at->file_size(gone);
        if (!gone && at->is_regular_file(gone) && file.path.extension() == kEnding) {
            files.push_back(std::move(file));
        }
    }
    return files;
}

} // namespace

std::filesystem::path LayoutFolder::pathOf(base::Hash128 key) const { return m_folder / (base::hex(key) + kEnding); }

std::optional<LayeredLayout> LayoutFolder::find(base::Hash128 key, const LayoutInput& input) const
{
    const std::filesystem::path path = pathOf(key);
    const base::OwnResultsScope own;
    const auto bytes = base::readFile(path, m_mostBytes);
    if (!bytes.ok()) {
        return std::nullopt;
    }
    std::error_code ignored; // when either fails, the file is only used or dropped a little earlier
    auto layout = readLayout(*bytes, key, input);
    if (!layout.ok()) {
        std::filesystem::remove(path, ignored);
        return std::nullopt;
    }
    std::filesystem::last_write_time(path, std::filesystem::file_time_type::clock::now(), ignored);
    return std::move(layout).value();
}

base::Result<void> LayoutFolder::add(base::Hash128 key, const LayeredLayout& layout) const
{
    const std::vector<std::byte> bytes = writeLayout(layout, key);
    if (bytes.size() > m_mostBytes) {
        return {};
    }
    RETRO_CHECK(base::makeFolder(m_folder));
    RETRO_CHECK(base::writeFile(pathOf(key), bytes));
    removeOldest();
    return {};
}

void LayoutFolder::removeOldest() const
{
    std::vector<KeptFile> files = filesIn(m_folder);
    std::sort(files.begin(), files.end(), [](const KeptFile& a, const KeptFile& b) {
        return a.used > b.used || (a.used == b.used && a.path < b.path);
    });
    std::uint64_t sum = 0;
    for (const KeptFile& file : files) {
        sum += file.bytes;
        if (sum > m_mostBytes) {
            std::error_code ignored;
            std::filesystem::remove(file.path, ignored);
        }
    }
}

} // namespace retro::layout
