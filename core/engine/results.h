// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/engine/explain.h"
#include "core/engine/openfused.h"

#include <nlohmann/json_fwd.hpp>

#include <filesystem>
#include <string>
#include <vector>

namespace retro::engine
{

/// File names of values: '/' and ':' (and what no file system takes) become '_'; a second value of the same file name
/// gets "~2", in value order. By ValueId, without extension.
[[nodiscard]] std::vector<std::string> fileNames(const graph::Graph& graph);

/// Hash of what is asked of a model, but for the data of its inputs: model structure and rewrites, target, start,
/// composite, engine, what is saved, precision. summary.json has it as `question`.
[[nodiscard]] std::string questionOf(const LoadedModel& model, const ExplainRequest& request);

/// summary.json of a relevance pass (docs/cli.md).
[[nodiscard]] nlohmann::ordered_json summaryJson(const LoadedModel& model, const ExplainRequest& request,
                                                 const ExplainResult& result);

/// Writes `folder`/relevance/<value>.npy for every value that relevance reached, `folder`/opened/<node>/<value>.npy for
/// the values of opened nodes, `folder`/checkpoints/<value>.npy for the snapshots, then `folder`/summary.json. Errors:
/// Output.
[[nodiscard]] base::Result<void> writeExplanation(const std::filesystem::path& folder, const LoadedModel& model,
                                                  const ExplainRequest& request, const ExplainResult& result,
                                                  const std::vector<OpenedFused>& opened = {});

} // namespace retro::engine
