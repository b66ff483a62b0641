// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/base/result.h"
#include "core/graph/graph.h"

#include <optional>
#include <vector>

namespace retro::onnxschema
{
class ValueInfoProto;
} // namespace retro::onnxschema

namespace retro::formats
{

/// Element type and extents that a file declares for a value.
struct DeclaredType
{
    tensor::DType dtype = tensor::DType::Float32;
    std::optional<std::vector<graph::Dimension>> shape; ///< missing: nothing is said about it
};

/// Reads the type of an input, output or value in between. Errors (Input): no type, a sequence, optional, map or sparse
/// tensor, an element type that is not read, more than kMaxRank axes.
[[nodiscard]] base::Result<DeclaredType> readType(const onnxschema::ValueInfoProto& info);

/// Writes name, element type and, where known, the shape.
void writeType(const graph::Value& value, onnxschema::ValueInfoProto& info);

} // namespace retro::formats
