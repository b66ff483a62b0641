// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/base/recordfwd.h"
#include "core/graph/graph.h"
#include "core/trace/profile.h"

#include <string>

namespace retro::trace
{

/// What is said of the time and work of a node; the table for people has milliseconds and millions of operations.
[[nodiscard]] base::Fields<NodeTotal> totalFields(const graph::Graph& graph);
/// What a pass spent on every node, in the order of the graph: [{"node", "operator", "forward_seconds", …}].
[[nodiscard]] nlohmann::ordered_json profileJson(const graph::Graph& graph, const Profile& profile);
/// What became of values, in the order of the pass: [{"value", "choice", "bytes", "reason", "seconds"}].
[[nodiscard]] nlohmann::ordered_json decisionsJson(const graph::Graph& graph, const Profile& profile);
/// A line per computation, in the order of the pass: step, begin, node, operator, half, repeated, seconds, flops,
/// bytes.
[[nodiscard]] std::string profileCsv(const graph::Graph& graph, const Profile& profile);

} // namespace retro::trace
