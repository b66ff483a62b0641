// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/graph/graph.h"

#include <cstdint>
#include <vector>

namespace retro::tape
{

/// The floating type of every value as another runtime computes it, by value: a run here has one floating type, a file
/// may change it by Cast and CastLike. Other types stand as they are declared.
[[nodiscard]] std::vector<tensor::DType> floatTypes(const graph::Graph& graph);

/// ONNX's number of a floating type that is computed with (TensorProto.DataType).
[[nodiscard]] std::int64_t onnxNumber(tensor::DType type);

} // namespace retro::tape
