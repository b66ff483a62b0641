// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/base/result.h"
#include "core/rows/thrift.h"

#include <cstdint>
#include <filesystem>
#include <map>
#include <string>
#include <vector>

namespace retro::rows
{

/// What the values of a column are.
enum class ColumnKind { Text, Whole, Number, Wholes, Numbers }; ///< the last two: a list per row

struct Column
{
    std::string name;
    ColumnKind kind;

    [[nodiscard]] bool isList() const { return kind == ColumnKind::Wholes || kind == ColumnKind::Numbers; }
};

/// The values of one column in one row group, as they lie in the file.
struct ColumnPlace
{
    std::int64_t offset = 0; ///< of the page: its header, then its values
    std::int64_t bytes = 0;  ///< of both
    std::int64_t values = 0;
};

struct RowGroup
{
    std::int64_t rows = 0;
    std::map<std::string, ColumnPlace> columns;
};

/// The end of a Parquet file: what it says of itself.
struct ParquetFooter
{
    std::uint64_t begin = 0;       ///< where it lies in the file
    std::vector<std::byte> schema; ///< as it is written
    std::map<std::string, std::string> facts;
    std::int64_t rows = 0;
    std::vector<RowGroup> groups;
    std::vector<std::byte> groupBytes; ///< all row groups, as they are written

    /// Reads it. Errors (Input): no Parquet file, a damaged one, one that is larger than kMostBytes.
    [[nodiscard]] static base::Result<ParquetFooter> read(const std::filesystem::path& file);
    /// Adds a row group that was written.
    void add(const std::vector<Column>& columns, const RowGroup& group);
    /// Footer, its length and the last mark.
    [[nodiscard]] std::vector<std::byte> bytes() const;

    static constexpr std::uint64_t kMostBytes = 256ULL << 20U;
};

/// The first and last bytes of a Parquet file.
inline constexpr std::string_view kParquetMark = "PAR1";

/// Columns as a Parquet schema.
[[nodiscard]] std::vector<std::byte> schemaOf(const std::vector<Column>& columns);
/// The header of a page of values without compression.
[[nodiscard]] std::vector<std::byte> pageHeader(std::size_t values, std::size_t bytes);
/// The values of a page.
struct PageContent
{
    std::size_t begin = 0; ///< behind the header
    std::int64_t count = 0;
};
/// The values behind such a header; `count` is 0 where it is none.
[[nodiscard]] PageContent pageContent(std::span<const std::byte> page);

} // namespace retro::rows
