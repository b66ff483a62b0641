// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/base/jsonfields.h"
#include "core/graph/graph.h"

#include <map>
#include <optional>
#include <string>
#include <vector>

/// Parts of a graph object of graph JSON (docs/formats/graph.md). Errors (Input) name line and field.
namespace retro::formats
{

using base::JsonFields;

/// The element type of a value or tensor; float32 when it says none.
[[nodiscard]] base::Result<tensor::DType> readDType(const JsonFields& fields);
/// The declared shape; none when missing.
[[nodiscard]] base::Result<std::optional<std::vector<graph::Dimension>>> readShape(const JsonFields& fields);
/// A tensor; invalid when its data is left out.
[[nodiscard]] base::Result<tensor::Tensor> readTensor(const JsonFields& fields);
/// The attributes of a node.
[[nodiscard]] base::Result<graph::Attributes> readAttributes(const JsonFields& node);
/// The notes of a node.
[[nodiscard]] base::Result<std::map<std::string, std::string>> readMetadata(const JsonFields& node);
/// What a capture measured; none when the object says nothing.
[[nodiscard]] base::Result<std::optional<graph::NodeFacts>> readNodeFacts(const JsonFields& node);
[[nodiscard]] base::Result<std::optional<graph::ValueFacts>> readValueFacts(const JsonFields& value);

/// The graph of an object, its own nested graphs included.
[[nodiscard]] base::Result<graph::Graph> readGraphObject(const JsonFields& fields);

} // namespace retro::formats
