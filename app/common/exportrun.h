// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/base/result.h"
#include "core/trace/run.h"
#include "core/trace/runtext.h"

#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace retro::app
{

/// What of a recorded run is written.
struct ExportRequest
{
    std::string value;                     ///< for heatmaps; empty = the first input that relevance reached
    std::optional<std::uint64_t> position; ///< events applied; none = the end
    std::string colormap = "relevance";
    bool overlay = false;
    bool isPlain = false;            ///< pixels only
    int bits = 8;                    ///< of a PNG of a heatmap; 16 = grey levels that stand for the numbers
    std::vector<std::string> select; ///< of graphs: names of nodes or groups; empty = all
    std::shared_ptr<const trace::RunText> text{}; ///< that was recorded with the run; null = none
};

/// Relevance of a value as .png, .svg, .pdf (drawn), .npy (the tensor) or .csv (rows of the drawn plane). Errors: Usage
/// (ending, no such value, relevance not there at that position), Output.
[[nodiscard]] base::Result<void> exportHeatmap(const trace::Run& run, const std::filesystem::path& path,
                                               const ExportRequest& request);

/// The graph with the state at the position as .png, .svg, .pdf, .dot or .json.
[[nodiscard]] base::Result<void> exportGraph(const std::shared_ptr<const trace::Run>& run,
                                             const std::filesystem::path& path, const ExportRequest& request);

} // namespace retro::app
