// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/base/result.h"
#include "core/formats/filenotes.h"
#include "core/graph/graph.h"

#include <cstddef>
#include <filesystem>
#include <memory>
#include <span>
#include <stop_token>
#include <vector>

namespace retro::formats
{

/// Largest ONNX file that is read (protobuf's own limit is 2 GiB).
inline constexpr std::uint64_t kMaxOnnxBytes = 2ULL << 30;

/// Reads an ONNX model: binary, or as text (onnxtextforms.h), which its content tells. Initializers that are also graph
/// inputs become constants; Constant nodes become constants; sparse initializers become dense; node
/// names, scopes (from node metadata or from '/'-separated names) and declared shapes are kept. Errors (Input) name
/// file, node and field: not protobuf, truncated (with the byte), no graph, unknown element type, external data outside
/// the model's folder, nested graphs (refused by operator name).
/// A requested stop ends the reading with Cancelled. `notes` takes what the graph does not say. With them, constants
/// whose data is not at hand (a weight file that is missing or cut off, ReadOptions::withoutWeights, texts as elements)
/// have type and shape alone; without them, they are errors.
[[nodiscard]] base::Result<std::shared_ptr<const graph::Graph>> readOnnx(const std::filesystem::path& path,
                                                                         const std::stop_token& stop = {},
                                                                         FileNotes* notes = nullptr,
                                                                         const ReadOptions& options = {});
/// As readOnnx, from memory; `where` is used in messages, `folder` holds external data.
[[nodiscard]] base::Result<std::shared_ptr<const graph::Graph>>
parseOnnx(std::span<const std::byte> data, const std::string& where, const std::filesystem::path& folder = {},
          const std::stop_token& stop = {}, FileNotes* notes = nullptr, const ReadOptions& options = {});
/// The graph as an ONNX model (IR version 8 or newer).
[[nodiscard]] base::Result<std::vector<std::byte>> toOnnx(const graph::Graph& graph);
/// An ONNX TensorProto file (`.pb`).
[[nodiscard]] base::Result<tensor::Tensor> readTensorProto(const std::filesystem::path& path);

} // namespace retro::formats
