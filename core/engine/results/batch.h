// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/base/result.h"
#include "core/graph/graph.h"

#include <cstddef>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

namespace retro::engine
{

/// One input of a batch.
struct BatchItem
{
    std::string stem;                 ///< file name without extension, as UniqueNames makes it
    std::vector<std::string> sources; ///< as for --input, one file in place of the folder or list
    std::filesystem::path file;       ///< that file
};

/// Largest list of inputs that is read, in bytes.
inline constexpr std::uint64_t kMostListBytes = 16ULL << 20U;

/// Endings of the files of a folder that count as inputs, in small letters, with their dots.
[[nodiscard]] std::vector<std::string> inputEndings();

/// The inputs that `texts` (as for --input) stand for when one of them is a folder (its files with one of
/// inputEndings(), where there are none its .txt, in the order of their names) or `@list.txt` (a file per line,
/// relative to the list; empty lines and those that begin with # do not count), or where several are files of a model's
/// only input. Nothing else. Errors (Input): a folder or list without inputs, a list that cannot be read; (Usage): more
/// than one folder or list.
[[nodiscard]] base::Result<std::optional<std::vector<BatchItem>>> findBatch(const std::vector<std::string>& texts,
                                                                            const graph::Graph& graph);

/// Part `number` (from 1) of `count`.
struct Shard
{
    std::size_t number = 1;
    std::size_t count = 1;
    /// True when item `index` (from 0) belongs to the part: every count-th item.
    [[nodiscard]] bool has(std::size_t index) const { return index % count == number - 1; }
};

/// Parses "i/n". Errors (Usage): not two whole numbers with 1 ≤ i ≤ n ≤ 1,000,000.
[[nodiscard]] base::Result<Shard> parseShard(const std::string& text);

} // namespace retro::engine
