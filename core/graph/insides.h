// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/base/result.h"
#include "core/graph/graph.h"

#include <cstddef>
#include <functional>
#include <optional>
#include <stop_token>

namespace retro::graph
{

/// Most nodes of a graph with its bodies written out.
inline constexpr std::size_t kMostShownNodes = 100'000;

/// Calls `take` with every graph inside the nodes of `graph`: branches of If, bodies of Loop and Scan, at any depth.
void forEachInside(const Graph& graph, const std::function<void(const Graph&)>& take);

/// A scope inside another: "outer/inner", or the one that is not empty.
[[nodiscard]] std::string joinedScope(const std::string& outer, const std::string& inner);

/// A graph to look at, not to run: the nodes of branches and bodies stand before the node that holds them, in the scope
/// "NODE/then_branch", "NODE/body". What a body takes from step to step is a node "BodyInput" there, which reads the
/// operand that it begins with; what it gives is an operand of the holding node. Names of values and nodes outside
/// stay; those inside begin with the scope. Nothing where no node holds a graph, or with more than `most` nodes.
/// Errors: those of GraphBuilder::build.
[[nodiscard]] base::Result<std::optional<Graph>> withBodies(const Graph& graph, std::size_t most = kMostShownNodes,
                                                            const std::stop_token& stop = {});

} // namespace retro::graph
