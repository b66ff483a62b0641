// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/base/result.h"
#include "core/rows/resultrow.h"

#include <filesystem>
#include <span>
#include <vector>

namespace retro::rows
{

/// Rows as Apache Parquet: columns id, source, bytes, modified, sample, target, label, score, started, reached, shape
/// and relevance (a list of float32; of several inputs `shape/<name>` and `relevance/<name>`). Each call adds a row
/// group, plain and uncompressed. While that happens the end of the file lies beside it (`.NAME.footer`), so that the
/// next call restores what a killed one left. As RowFormat.
[[nodiscard]] base::Result<std::vector<RowKey>> parquetKeys(const std::filesystem::path& file, const RowHead& head,
                                                            std::size_t from);
[[nodiscard]] base::Result<void> appendParquet(const std::filesystem::path& file, const RowHead& head,
                                               std::span<const Row> rows);

} // namespace retro::rows
