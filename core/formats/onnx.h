// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/base/result.h"
#include "core/formats/inlinedfunction.h"
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

/// Reads an ONNX model. Initializers that are also graph inputs become constants; Constant nodes become constants; node
/// names, scopes (from node metadata or from '/'-separated names) and declared shapes are kept. Errors (Input) name
/// file, node and field: not protobuf, truncated (with the byte), no graph, unknown element type, external data outside
/// the model's folder, nested graphs (refused by operator name).
/// A requested stop ends the reading with Cancelled. `inlined` takes the functions of
/// the model that were written out.
[[nodiscard]] base::Result<std::shared_ptr<const graph::Graph>>
readOnnx(const std::filesystem::path& path, const std::stop_token& stop = {},
         std::vector<InlinedFunction>* inlined = nullptr);
/// As readOnnx, from memory; `where` is used in messages, `folder` holds external data.
[[nodiscard]] base::Result<std::shared_ptr<const graph::Graph>>
parseOnnx(std::span<const std::byte> data, const std::string& where, const std::filesystem::path& folder = {},
          const std::stop_token& stop = {}, std::vector<InlinedFunction>* inlined = nullptr);
/// The graph as an ONNX model (IR version 8 or newer).
[[nodiscard]] base::Result<std::vector<std::byte>> toOnnx(const graph::Graph& graph);
/// An ONNX TensorProto file (`.pb`).
[[nodiscard]] base::Result<tensor::Tensor> readTensorProto(const std::filesystem::path& path);

} // namespace retro::formats
