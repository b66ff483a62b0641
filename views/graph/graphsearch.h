// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/graph/graph.h"

#include <string_view>
#include <vector>

namespace retro::views
{

/// Nodes that match every word of a query, in the order of execution; none for an empty query. A word matches where
/// name, operator type or scope contains it, whatever the case; "name:…", "op:…" and "scope:…" look in one place only.
/// O(nodes · words).
[[nodiscard]] std::vector<base::NodeId> findNodes(const graph::Graph& graph, std::string_view query);

} // namespace retro::views
