// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/base/result.h"
#include "core/trace/run.h"

#include <filesystem>
#include <memory>
#include <stop_token>

namespace retro::trace
{

/// Version of the run file format (SQLite user_version). Older versions open, newer ones are refused by name.
inline constexpr int kRunFileVersion = 3;

/// Writes a run as a `.retro` file: an SQLite database (docs/formats/retro.md). Through a temporary name. Errors:
/// Output.
[[nodiscard]] base::Result<void> writeRun(const std::filesystem::path& path, const Run& run, std::stop_token stop = {});
/// Reads a run file; needs no model file and recomputes nothing. Errors (Input): not a run file, newer version,
/// damaged.
[[nodiscard]] base::Result<std::shared_ptr<const Run>> readRun(const std::filesystem::path& path);

} // namespace retro::trace
