// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/base/result.h"
#include "core/graph/graph.h"

#include <graphviz/cgraph.h>

namespace retro::app
{

/// A DOT graph as a graph of ours: every node makes one value of its name, every edge is an operand, nodes without
/// readers are the outputs. The attribute `op` of a node is its operator (else "Node"), in the domain `dot`, so nothing
/// pretends that it could run; `flops` and `bytes` are taken as facts, `label` as a note. Errors (Input): cycles, more
/// than graph::kMaxNodes nodes, a graph without nodes.
[[nodiscard]] base::Result<graph::Graph> graphFromDot(Agraph_t* dot);

} // namespace retro::app
