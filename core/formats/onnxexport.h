// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/base/result.h"
#include "core/graph/graph.h"

#include <cstddef>
#include <map>
#include <string>
#include <vector>

namespace retro::formats
{

/// The graph as an ONNX model that says of itself what `metadata` holds (metadata_props). Errors as toOnnx(graph).
[[nodiscard]] base::Result<std::vector<std::byte>> toOnnx(const graph::Graph& graph,
                                                          const std::map<std::string, std::string>& metadata);

} // namespace retro::formats
