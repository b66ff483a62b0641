// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/base/result.h"
#include "core/trace/run.h"
#include "core/trace/runtext.h"

#include <filesystem>

namespace retro::app
{

/// Writes the text of a run: .html (a page), .json (everything), .csv (a row per token). Errors: Usage (ending),
/// Output.
[[nodiscard]] base::Result<void> exportText(const trace::RunText& text, const trace::Run& run,
                                            const std::filesystem::path& path);

} // namespace retro::app
