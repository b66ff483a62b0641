// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/base/result.h"
#include "core/trace/lutdetail.h"

#include <nlohmann/json.hpp>

#include <filesystem>
#include <string>
#include <vector>

namespace retro::app
{

/// A launch and the buffers of its pass as it left them: name, role, shape, what the launch did with each, figures.
[[nodiscard]] nlohmann::ordered_json launchJson(const trace::LaunchDetail& detail);
/// The same for a terminal.
[[nodiscard]] std::vector<std::string> launchLines(const trace::LaunchDetail& detail);
/// Writes each buffer as FOLDER/<name>.npy ("firing_statistics.npy"); those beyond 64 MiB are left out. Errors: Output.
[[nodiscard]] base::Result<void> writeBuffers(const std::filesystem::path& folder, const trace::LaunchDetail& detail);

} // namespace retro::app
