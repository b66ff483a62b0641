// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/base/result.h"
#include "core/graph/graph.h"

#include <memory>

namespace retro::engine
{

/// The graph with nodes that every runtime of its operator set has: products that relevance takes for gates are plain
/// products, and Gelu, Swish, LayerNormalization and RMSNormalization that are newer than the graph (as an operator of
/// many steps was written out with them) become steps of it. The graph itself where it has none of these.
[[nodiscard]] base::Result<std::shared_ptr<const graph::Graph>>
withStandardNodes(std::shared_ptr<const graph::Graph> graph);

} // namespace retro::engine
