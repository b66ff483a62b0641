// SPDX-License-Identifier: Apache-2.0
#include "core/rows/rowfile.h"

#include "core/base/file.h"
#include "core/base/folderlock.h"
#include "core/base/inputfiles.h"
#include "core/base/outputplace.h"
#include "core/rows/hdf5rows.h"
#include "core/rows/parquetrows.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>

namespace retro::rows
{

using base::Result;

namespace
{

constexpr std::uint64_t kMostKeptBytes = 64ULL << 20U;
constexpr std::chrono::seconds kLongestKept{20};

constexpr std::array kFormats{RowFormat{".parquet", &parquetKeys, &appendParquet},
                              RowFormat{".h5", &hdf5Keys, &appendHdf5}};

} // namespace

std::span<const RowFormat> rowFormats() { return kFormats; }

std::uint64_t Row::bytes() const
{
    std::uint64_t all = sizeof(Row) + key.id.size() + key.source.size() + label.size() + scores.size() * sizeof(float);
    for (const RowPart& part : parts) {
        all += static_cast<std::uint64_t>(part.values.size()) * sizeof(float);
    }
    return all;
}

Result<RowFile> RowFile::open(std::filesystem::path file, RowHead head)
{
    const auto format = std::ranges::find(kFormats, file.extension().string(), &RowFormat::ending);
    if (format == kFormats.end()) {
        std::string endings;
        for (const RowFormat& one : kFormats) {
            endings += fmt::format("{}{}", endings.empty() ? "" : " or ", one.ending);
        }
        return base::usageError("results are appended to a file that ends in " + endings, "--out " + file.string());
    }
    RowFile made(std::move(file), std::move(head), *format);
    RETRO_CHECK(made.refresh());
    return made;
}

Result<void> RowFile::read()
{
    RETRO_TRY(std::vector<RowKey> more, m_format->keys(m_file, m_head, m_count));
    m_count += more.size();
    for (RowKey& key : more) {
        m_keys.insert(key);
        m_there.insert(std::move(key));
    }
    return {};
}

Result<void> RowFile::refresh()
{
    RETRO_CHECK(base::checkOutputPlace(m_file)); // a pipe would be waited for
    RETRO_TRY(const base::FolderLock turn, base::FolderLock::inTurnAt(m_file));
    const base::OwnResultsScope own;
    base::removeLeftoversOf(m_file);
    return read();
}

Result<void> RowFile::add(std::vector<Row> rows)
{
    if (m_kept.empty()) {
        m_since = std::chrono::steady_clock::now();
    }
    for (Row& row : rows) {
        m_keptBytes += row.bytes();
        m_keys.insert(row.key);
        m_kept.push_back(std::move(row));
    }
    const bool isOld = std::chrono::steady_clock::now() - m_since >= kLongestKept;
    return m_keptBytes >= kMostKeptBytes || isOld ? flush() : Result<void>();
}

Result<void> RowFile::flush()
{
    if (m_kept.empty()) {
        return {};
    }
    std::vector<Row> kept = std::move(m_kept);
    m_kept.clear();
    m_keptBytes = 0;
    const auto write = [&]() -> Result<void> {
        RETRO_CHECK(base::checkOutputPlace(m_file));
        RETRO_TRY(const base::FolderLock turn, base::FolderLock::inTurnAt(m_file));
        const base::OwnResultsScope own;
        RETRO_CHECK(read());
        std::erase_if(kept, [this](const Row& row) { return m_there.contains(row.key); });
        return kept.empty() ? Result<void>() : m_format->append(m_file, m_head, kept);
    };
    Result<void> written = write();
    for (const Row& row : kept) {
        if (written) {
            m_there.insert(row.key);
        } else {
            m_keys.erase(row.key);
        }
    }
    m_count += written ? kept.size() : 0;
    return written;
}

} // namespace retro::rows
