// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/base/result.h"

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace retro::base
{

/// Reads a whole file of at most `limit` bytes. Errors (Input): missing, not a regular file, unreadable, larger than
/// the limit.
[[nodiscard]] Result<std::vector<std::byte>> readFile(const std::filesystem::path& path, std::uint64_t limit);

/// As readFile, as text.
[[nodiscard]] Result<std::string> readTextFile(const std::filesystem::path& path, std::uint64_t limit);

/// Writes `data` to a new file beside `path` and renames it into place, so that a failure or a kill leaves no
/// half-written file. Errors (Output): the folder does not exist or cannot be written, the disk is full.
[[nodiscard]] Result<void> writeFile(const std::filesystem::path& path, std::span<const std::byte> data);
[[nodiscard]] Result<void> writeFile(const std::filesystem::path& path, std::string_view text);

/// For writers that need a file name (images, databases): calls `write` with a temporary name in the same folder (same
/// extension), then renames it to `path`; removes it when `write` fails.
[[nodiscard]] Result<void> writeThrough(const std::filesystem::path& path,
                                        const std::function<Result<void>(const std::filesystem::path&)>& write);

/// Makes a folder and its parents. Errors (Output).
[[nodiscard]] Result<void> makeFolder(const std::filesystem::path& path);

} // namespace retro::base
