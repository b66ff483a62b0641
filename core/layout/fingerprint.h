// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/graph/graph.h"
#include "core/layout/graphadapter.h"

#include <cstdint>
#include <span>
#include <vector>

namespace retro::layout
{

/// Adds a number to a hash; the order counts. The same on every machine.
[[nodiscard]] std::uint64_t mixed(std::uint64_t hash, std::uint64_t number);

/// What an operator is, whatever its name and wherever it stands: type, attributes, and the types and shapes of its
/// constant operands (not their values). Per operator of the graph. O(nodes + operands + attributes).
[[nodiscard]] std::vector<std::uint64_t> operatorMarks(const graph::Graph& graph);

/// How a group is built: its operators in the order of execution, how they are wired among each other and with the
/// world outside, and the groups inside it. Equal for groups that are built alike, whatever their names and weights.
/// Per group of `drawn`; `marks` from operatorMarks(). O(Σ over groups of what is in them).
[[nodiscard]] std::vector<std::uint64_t> groupFingerprints(const graph::Graph& graph, const DrawnGraph& drawn,
                                                           std::span<const std::uint64_t> marks);

} // namespace retro::layout
