// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/base/result.h"
#include "views/common/paint/heatmapimage.h"
#include "views/heatmap/stepschart.h"

#include <filesystem>
#include <string>

namespace retro::views
{

/// Writes the strip of a figure with its chart below, or a table's rows, as the pane shows them. `table` goes below the
/// picture of a page. Errors: Usage (another extension), Output.
[[nodiscard]] base::Result<void> writeStrip(const std::filesystem::path& path, const HeatmapFigure& figure,
                                            const StepsChart& chart, const std::string& table = {});

} // namespace retro::views
