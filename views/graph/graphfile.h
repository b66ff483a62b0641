// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/base/result.h"
#include "core/trace/run.h"
#include "core/trace/runstate.h"

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

namespace retro::views
{

/// Writes a graph and the state of a run on it without a window: .svg, .png, .pdf as the window draws it on opening
/// (light theme), .dot and .json with every node. `state` may be null (nothing has happened). `run` gives shapes,
/// relevance and names; its own graph is ignored. `position` = number of events applied to get the state; when missing,
/// the end of the state's visit. `select` names nodes or groups: only these and what lies on the ways between them are
/// drawn, with every group open. Needs a QApplication for pictures. Errors: Usage (ending, too large for PNG), Input
/// (the graph cannot be laid out), Output. A name that nothing has is a Usage error.
[[nodiscard]] base::Result<void> writeGraphFigure(const std::filesystem::path& path, const graph::Graph& graph,
                                                  const trace::RunState* state, const trace::Run& run,
                                                  std::optional<std::uint64_t> position = std::nullopt,
                                                  const std::vector<std::string>& select = {});

} // namespace retro::views
