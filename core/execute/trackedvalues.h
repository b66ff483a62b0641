// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/graph/graph.h"
#include "core/ops/boundoperator.h"

#include <memory>
#include <span>
#include <vector>

namespace retro::execute
{

/// Per value of the graph: does it carry relevance? A floating graph input does, an integer one when an embedding is
/// looked up by it (tokenPath), the result of an embedding, and a floating result of an operator that passes relevance
/// and has an operand that carries it. Operators per node, types per value.
[[nodiscard]] std::vector<bool> trackedValues(const graph::Graph& graph,
                                              std::span<const std::unique_ptr<ops::BoundOperator>> operators,
                                              std::span<const ops::TensorType> types);

} // namespace retro::execute
