// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/graph/graph.h"
#include "core/ops/boundoperator.h"

#include <functional>
#include <optional>
#include <vector>

namespace retro::execute
{

/// The way from an embedding's indices up to the graph input that they are, but for shape and integer type.
struct TokenPath
{
    graph::ValueId input;
    std::vector<graph::NodeId> nodes; ///< Reshape, Cast, … between, from the embedding upwards
};

/// The path of `tokens`; none when they are computed in another way. `op` gives the operator of a node.
[[nodiscard]] std::optional<TokenPath> tokenPath(const graph::Graph& graph, graph::ValueId tokens,
                                                 const std::function<const ops::BoundOperator&(graph::NodeId)>& op);

} // namespace retro::execute
