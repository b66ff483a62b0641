// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/diagnosis/modelfacts.h"

#include <vector>

namespace retro::diagnosis
{

/// Which nodes and values of two graphs are the same: by names where they agree, else by structure. Constant and
/// Identity are no nodes.
struct GraphMatch
{
    std::vector<NodeId> toOther;       ///< by NodeId of the one graph, without inputs; invalid: only the one has it
    std::vector<NodeId> toOne;         ///< the other way
    std::vector<ValueId> valueToOther; ///< by ValueId of the one graph; constants have no partner
    std::size_t nodes = 0;             ///< of the smaller graph, Constant and Identity left out
    std::size_t matched = 0;
    bool isByName = false;
};

/// Matches by name and type where at least 80 % of the smaller graph do; the rest, and else all, by the longest common
/// subsequence of (type, shapes of constants) in topological order.
[[nodiscard]] GraphMatch matchGraphs(const ModelFacts& one, const ModelFacts& other);

/// True for Constant and Identity.
[[nodiscard]] bool isNoNode(const graph::Node& node);
/// The value that an operand is, behind Identity nodes.
[[nodiscard]] ValueId behindIdentities(const graph::Graph& graph, ValueId value);

} // namespace retro::diagnosis
