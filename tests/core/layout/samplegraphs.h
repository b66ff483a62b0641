// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/layout/layoutinput.h"

#include <random>

/// Graphs that the layout tests share. All are deterministic.
namespace samples
{

using retro::layout::Index;
using retro::layout::LayoutInput;

/// Adds a box of 120 × 28 and edges to it from `operands`; returns its index.
Index addNode(LayoutInput& graph, const std::vector<Index>& operands = {});

/// 0 → 1 → … → n-1.
LayoutInput chain(Index count);

/// Blocks of four chained nodes and a sum: x → a → b → c → d → sum, x → sum. Node 0 is the input, block k is 5k+1 …
/// 5k+5.
LayoutInput residualChain(Index blocks);

/// Transformer blocks of 19 nodes: three readers of one norm, a long value lane, two residuals. Node 0 is the input.
LayoutInput transformer(Index blocks);

/// Random edges from lower to higher nodes, parallel ones included; random box sizes; edges reach at most `reach`
/// nodes.
LayoutInput randomGraph(Index nodes, Index edges, Index reach, std::uint32_t seed);

/// Puts the nodes of a graph into a random tree of groups; a third of the nodes stays outside.
void addRandomGroups(LayoutInput& graph, Index groups, std::uint32_t seed);

} // namespace samples
