// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/graph/graph.h"
#include "core/ops/boundoperator.h"

#include <optional>
#include <stop_token>
#include <vector>

namespace retro::rewrite
{

/// Type and shape per value, as far as they follow from the shapes that the inputs declare and from constants, else
/// as the graph declares them; nothing where neither says it. Costs one binding of every node. A stop leaves the rest
/// unknown.
[[nodiscard]] std::vector<std::optional<ops::TensorType>> staticTypes(const graph::Graph& graph,
                                                                      const std::stop_token& stop);

} // namespace retro::rewrite
