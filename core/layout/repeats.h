// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/graph/graph.h"
#include "core/layout/graphadapter.h"

namespace retro::layout
{

/// Fewest neighbouring groups of one structure that get a group around them.
inline constexpr Index kLeastRepeats = 3;
/// Fewest nodes in all of them together.
inline constexpr Index kLeastRepeatedNodes = 12;

/// Finds what is repeated and adds groups for it to a drawing that readGraph() began:
/// - a stretch of nodes without scopes that repeats becomes groups "block.1", "block.2", …
/// - neighbouring groups of one structure get a group around them, "layer.0–11", whose entry in groupRepeats says how
///   many they are. Left out where that group, closed, would feed itself through nodes outside.
/// Sets groupRepeats and groupLike. Near-linear in nodes + edges.
void addRepeats(const graph::Graph& graph, DrawnGraph& drawn);

} // namespace retro::layout
