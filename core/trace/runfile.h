// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/base/result.h"
#include "core/trace/notes.h"
#include "core/trace/run.h"
#include "core/trace/runplan.h"
#include "core/trace/runregion.h"
#include "core/trace/runtext.h"

#include <filesystem>
#include <memory>
#include <span>
#include <stop_token>
#include <vector>

namespace retro::trace
{

/// Version of the run file format (SQLite user_version). Older versions open, newer ones are refused by name.
inline constexpr int kRunFileVersion = 14;

/// Writes a run as a `.retro` file: an SQLite database (docs/formats/retro.md). Through a temporary name. Errors:
/// Output.
[[nodiscard]] base::Result<void> writeRun(const std::filesystem::path& path, const Run& run, std::stop_token stop = {});
/// Reads a run file; needs no model file and recomputes nothing. Errors (Input): not a run file, newer version,
/// damaged.
[[nodiscard]] base::Result<std::shared_ptr<const Run>> readRun(const std::filesystem::path& path);

/// A run with what somebody wrote about it, in the order of the file, the plan that carried it out, the region that was
/// asked of it, and its text.
struct RecordedRun
{
    std::shared_ptr<const Run> run;
    std::vector<Note> notes;
    std::shared_ptr<const RunPlan> plan{};     ///< null = none
    std::shared_ptr<const RunRegion> region{}; ///< null = none
    std::shared_ptr<const RunText> text{};     ///< null = it is of no text
};

/// As writeRun(), with notes. More than kMostNotes or longer ones than kMostNoteBytes would not be read again. Errors:
/// Output, Bug (too many, too long, not of this run).
[[nodiscard]] base::Result<void> writeRecorded(const std::filesystem::path& path, const Run& run,
                                               std::span<const Note> notes, std::stop_token stop = {});
/// The same of all that belongs to a run; `recorded.run` must be there.
[[nodiscard]] base::Result<void> writeRecorded(const std::filesystem::path& path, const RecordedRun& recorded,
                                               std::stop_token stop = {});
/// As readRun(), with the notes; files of versions 1 to 3 have none, those before 12 no plan, those before 13 neither
/// region nor text.
[[nodiscard]] base::Result<RecordedRun> readRecorded(const std::filesystem::path& path);

} // namespace retro::trace
