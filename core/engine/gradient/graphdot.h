// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/graph/graph.h"

#include <string>

namespace retro::engine
{

/// A graph in the language of Graphviz: nodes as boxes, inputs and outputs as ellipses, an edge per operand. Constants
/// are left out, but for one that is an output. Each has its name in the graph; where two have one name, a node and an
/// input for instance, the later one gets "~" behind it.
[[nodiscard]] std::string dotOf(const graph::Graph& graph);

} // namespace retro::engine
