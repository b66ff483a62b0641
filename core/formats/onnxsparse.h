// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/base/result.h"
#include "core/tensor/tensor.h"

#include <filesystem>

namespace retro::onnxschema
{
class GraphProto;
class SparseTensorProto;
} // namespace retro::onnxschema

namespace retro::formats
{

/// The dense tensor of a sparse message (COO): zeros but for its values, whose places are positions in row-major order
/// (indices of shape [N]) or one row of indices each (shape [N, rank]), in ascending order, each once. External data is
/// looked for in `folder`. Errors (Input) name the field: an index out of range, out of order or twice, lists of
/// different lengths, types that are not read, and a dense size that is out of proportion to what the file holds.
[[nodiscard]] base::Result<tensor::Tensor> fromSparseTensorProto(const onnxschema::SparseTensorProto& proto,
                                                                 const std::filesystem::path& folder);

/// Looks at all sparse tensors of a graph, also inside its nodes, before one is read. Errors (Memory): together they
/// would take more than base::MemoryLimit::beforeRun() and are out of proportion to what the file holds.
[[nodiscard]] base::Result<void> checkSparseTensors(const onnxschema::GraphProto& graph);

} // namespace retro::formats
