// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/base/result.h"
#include "core/rows/resultrow.h"

#include <filesystem>
#include <span>
#include <vector>

namespace retro::rows
{

/// Rows as HDF5 in the form that ViRelAy reads: `attribution` [rows × shape of the input], `prediction` [rows × scores]
/// (the score alone where a sample has no list of scores), `label` [rows] (the explained element), and id, source,
/// bytes, modified, sample, class, score, started, reached beside them. Relevance of further inputs is
/// `attribution_<name>`. All rows have one shape. libhdf5 is loaded when the first such file is asked for. A row counts
/// when its `id` is there, which is written last. As RowFormat; errors (Usage) also: libhdf5 is not installed, or
/// the program was built without it.
[[nodiscard]] base::Result<std::vector<RowKey>> hdf5Keys(const std::filesystem::path& file, const RowHead& head,
                                                         std::size_t from);
[[nodiscard]] base::Result<void> appendHdf5(const std::filesystem::path& file, const RowHead& head,
                                            std::span<const Row> rows);

} // namespace retro::rows
