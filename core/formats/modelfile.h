// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/base/result.h"
#include "core/formats/inlinedfunction.h"
#include "core/graph/graph.h"

#include <cstddef>
#include <filesystem>
#include <memory>
#include <stop_token>
#include <vector>

namespace retro::formats
{

/// Reads a model by the ending of its name: `.json` as graph JSON (docs/formats/graph.md), anything else as ONNX
/// (docs/formats/onnx.md). Errors as readGraphJson and readOnnx. `inlined` takes the functions of
/// the model that were written out.
[[nodiscard]] base::Result<std::shared_ptr<const graph::Graph>>
readModelFile(const std::filesystem::path& path, const std::stop_token& stop = {},
              std::vector<InlinedFunction>* inlined = nullptr);

/// Writes a graph in the format of the ending, `.json` or `.onnx`, as a whole or not at all. Errors: Usage (another
/// ending), Input (the graph does not fit ONNX), Output.
[[nodiscard]] base::Result<void> writeModelFile(const std::filesystem::path& path, const graph::Graph& graph);

} // namespace retro::formats
