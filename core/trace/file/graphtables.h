// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/trace/file/tensortable.h"

namespace retro::trace::file
{

/// Writes the graph: values, nodes, attributes, outputs, operator sets. Data of small constants goes to the pool; of
/// large ones only type and shape are written. Errors: Output.
[[nodiscard]] base::Result<void> writeGraph(Database& database, const graph::Graph& graph, TensorPool& pool,
                                            RowCounts& counts);
/// Reads it back from a file of this version with the same ids; constants that were left out have type and shape and no
/// data. Errors: Input.
[[nodiscard]] base::Result<std::shared_ptr<const graph::Graph>>
readGraph(Database& database, std::int64_t version, const RowCounts& counts, const std::vector<Tensor>& tensors);

} // namespace retro::trace::file
