// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/base/result.h"
#include "core/rows/resultrow.h"

#include <chrono>
#include <filesystem>
#include <set>
#include <span>
#include <string_view>
#include <vector>

namespace retro::rows
{

/// A kind of file that holds one row per explained sample.
struct RowFormat
{
    std::string_view ending; ///< ".parquet"
    /// Keys of the rows from row `from` on; none where there is no file. Errors (Input): it is no such file; (Usage):
    /// its rows answer another question.
    base::Result<std::vector<RowKey>> (*keys)(const std::filesystem::path& file, const RowHead& head, std::size_t from);
    /// Adds rows behind those that are there; makes the file where there is none. Errors: those of keys(); (Output)
    /// what is in the file stays readable; (Usage) rows that the format cannot hold, such as another shape.
    base::Result<void> (*append)(const std::filesystem::path& file, const RowHead& head, std::span<const Row> rows);
};
/// All there are.
[[nodiscard]] std::span<const RowFormat> rowFormats();

/// One file that grows by rows. Several processes may add to it; each adds in its turn. Rows are kept until there are
/// 64 MiB of them, or the oldest is 20 seconds old.
class RowFile
{
public:
    /// Reads which rows are there. Errors (Usage): an ending that no format has; those of RowFormat::keys.
    [[nodiscard]] static base::Result<RowFile> open(std::filesystem::path file, RowHead head);

    [[nodiscard]] const std::filesystem::path& path() const { return m_file; }
    /// True when a row of this key is there or kept.
    [[nodiscard]] bool has(const RowKey& key) const { return m_keys.contains(key); }
    /// Rows that are there, those that are kept included.
    [[nodiscard]] std::size_t size() const { return m_keys.size(); }
    /// Adds the rows of one input. Errors: those of flush(); none of these rows count as there then.
    [[nodiscard]] base::Result<void> add(std::vector<Row> rows);
    /// Writes what is kept, but for rows that another process added meanwhile. Errors: those of RowFormat::append.
    [[nodiscard]] base::Result<void> flush();
    /// Takes what others added.
    [[nodiscard]] base::Result<void> refresh();

private:
    RowFile(std::filesystem::path file, RowHead head, const RowFormat& format)
        : m_file(std::move(file)), m_head(std::move(head)), m_format(&format)
    {}
    [[nodiscard]] base::Result<void> read();

    std::filesystem::path m_file;
    RowHead m_head;
    const RowFormat* m_format;
    std::size_t m_count = 0;  ///< rows of the file that were read
    std::set<RowKey> m_there; ///< keys in the file
    std::set<RowKey> m_keys;  ///< those, and those that are kept
    std::vector<Row> m_kept;
    std::uint64_t m_keptBytes = 0;
    std::chrono::steady_clock::time_point m_since;
};

} // namespace retro::rows
