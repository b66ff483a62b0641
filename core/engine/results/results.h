// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/engine/explain/explain.h"
#include "core/engine/lut/lutdecisions.h"
#include "core/engine/model/openfused.h"
#include "core/engine/results/resultkey.h"

#include <nlohmann/json_fwd.hpp>

#include <filesystem>
#include <string>
#include <vector>

namespace retro::engine
{

/// File names of values: '/' and ':' (and what no file system takes) become '_'; a second value of the same file name
/// gets "~2" (or the next number that no other has), in value order. By ValueId, without extension.
[[nodiscard]] std::vector<std::string> fileNames(const graph::Graph& graph);

/// A target in one entry per sample: output, index in the sample, logit; place where a sample has several rows of
/// classes; label where the card has one.
[[nodiscard]] nlohmann::ordered_json targetJson(const LoadedModel& model, const graph::Graph& graph,
                                                const ResolvedTarget& target);

/// What LUT layers did in a pass that was recorded, or that a plan carried out.
[[nodiscard]] std::vector<LutLayer> lutLayersOf(const ExplainResult& result);

/// summary.json of a relevance pass (docs/cli.md), with the key of the question that was asked, if there is one.
[[nodiscard]] nlohmann::ordered_json summaryJson(const LoadedModel& model, const ExplainRequest& request,
                                                 const ExplainResult& result, const ResultKey& asked = {});

/// Writes `folder`/relevance/<value>.npy for every value that relevance reached, and for the
/// parameters that got some where they were asked for, `folder`/opened/<node>/<value>.npy for
/// the values of opened nodes, `folder`/checkpoints/<value>.npy for the snapshots, then `folder`/summary.json, which
/// lists them all and those that were `handedOut` before. Errors: Output.
[[nodiscard]] base::Result<void> writeExplanation(const std::filesystem::path& folder, const LoadedModel& model,
                                                  const ExplainRequest& request, const ExplainResult& result,
                                                  const std::vector<OpenedFused>& opened = {},
                                                  const ResultKey& asked = {},
                                                  std::vector<std::filesystem::path> handedOut = {});

} // namespace retro::engine
