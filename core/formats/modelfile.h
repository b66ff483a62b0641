// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/base/result.h"
#include "core/formats/filenotes.h"
#include "core/graph/graph.h"

#include <cstddef>
#include <filesystem>
#include <memory>
#include <stop_token>
#include <vector>

namespace retro::formats
{

/// Reads a model: graph JSON (docs/formats/graph.md) or ONNX, binary or as text (docs/formats/onnx.md). A file that
/// begins as JSON is told by its content, any other one is ONNX. Errors as readGraphJson and readOnnx; `notes` and
/// `options` as readOnnx().
[[nodiscard]] base::Result<std::shared_ptr<const graph::Graph>> readModelFile(const std::filesystem::path& path,
                                                                              const std::stop_token& stop = {},
                                                                              FileNotes* notes = nullptr,
                                                                              const ReadOptions& options = {});

/// Writes a graph in the format of the ending, `.json` or `.onnx`, as a whole or not at all. Errors: Usage (another
/// ending), Input (the graph does not fit ONNX), Output.
[[nodiscard]] base::Result<void> writeModelFile(const std::filesystem::path& path, const graph::Graph& graph);

} // namespace retro::formats
