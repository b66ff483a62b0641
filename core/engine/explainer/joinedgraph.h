// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/engine/explainer/followingconstants.h"
#include "core/graph/graph.h"

#include <memory>
#include <stop_token>
#include <string>

namespace retro::engine
{

/// The symbol of the one extent that the inputs of a graph leave free; empty where several are, or none.
[[nodiscard]] std::string soleFreeExtent(const graph::Graph& graph);

/// One graph of three that were written for three values of one extent, which `like` (the model, inputs in the same
/// order) leaves free. What differs between them is computed from the extent when the graph runs. Null where something
/// does not follow from it. Errors: Cancelled, as GraphBuilder::build().
[[nodiscard]] base::Result<std::shared_ptr<const graph::Graph>>
joinedGraph(const std::array<std::shared_ptr<const graph::Graph>, 3>& written, const ThreeExtents& extents,
            const graph::Graph& like, tensor::DType floatType, const std::stop_token& stop);

} // namespace retro::engine
