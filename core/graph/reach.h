// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/graph/graph.h"

#include <functional>
#include <set>
#include <span>
#include <vector>

namespace retro::graph
{

/// What a walk through a graph came to.
struct Reach
{
    std::vector<bool> values; ///< by ValueId
    std::vector<bool> nodes;  ///< by NodeId, the inputs of the graph behind its nodes
};

/// Whether a node is walked through. An empty function lets all pass.
using PassesNode = std::function<bool(const Node& node)>;

/// What the values are computed from; they and the nodes that make them belong to it. A node that does not pass belongs
/// to it as well, its operands do not. Invalid ids are left out.
[[nodiscard]] Reach ancestorsOf(const Graph& graph, std::span<const base::ValueId> values,
                                const PassesNode& passes = {});

/// What is computed from the values; they belong to it. A node that does not pass does not.
[[nodiscard]] Reach descendantsOf(const Graph& graph, std::span<const base::ValueId> values,
                                  const PassesNode& passes = {});

/// The nodes that make a value, up to what is known; ascending ids are an order in which they can run. A value that no
/// node makes counts as known.
[[nodiscard]] std::set<base::NodeId> nodesMaking(const Graph& graph, base::ValueId wanted,
                                                 const std::function<bool(base::ValueId)>& isKnown);

} // namespace retro::graph
