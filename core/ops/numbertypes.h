// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/graph/graph.h"

#include <cstdint>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

namespace retro::ops
{

/// The element types that a node's results have in the model, by output, given those of its operands (ONNX, the type
/// constraints of each operator). A run stores all floating values in one type, so this says whose numbers they are.
/// Right for every result that is floating; other results may get the type of the floating operands.
[[nodiscard]] std::vector<tensor::DType> resultNumbers(const graph::Node& node,
                                                       std::span<const tensor::DType> operands);

/// The same for every value of a graph, by ValueId: inputs and constants as they are declared, then node by node.
[[nodiscard]] std::vector<tensor::DType> numberTypes(const graph::Graph& graph);

/// True when an input, a result or an output of the graph, or of a graph inside it, is float64. Constants that are no
/// outputs do not count: what is computed with them does.
[[nodiscard]] bool computesInFloat64(const graph::Graph& graph);

/// The element type that ONNX's number (TensorProto.DataType) or name stands for; nothing where tensors have none such.
[[nodiscard]] std::optional<tensor::DType> dtypeOfOnnx(std::int64_t number);
[[nodiscard]] std::optional<tensor::DType> dtypeOfOnnx(std::string_view name);
/// ONNX's number of an element type.
[[nodiscard]] std::int64_t onnxOf(tensor::DType type);

} // namespace retro::ops
