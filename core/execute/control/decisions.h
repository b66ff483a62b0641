// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/graph/graph.h"

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace retro::execute
{

/// How an If, Loop or Scan went when its graph was written out.
struct ControlDecision
{
    std::string node;                       ///< its name, behind that of the nodes around it: "outer/3/gate"
    std::string branch;                     ///< of an If: "then_branch" or "else_branch"
    std::optional<std::int64_t> iterations; ///< of a Loop or Scan
    bool operator==(const ControlDecision&) const = default;
};

/// Notes in the metadata of a node that it hands on a result of control flow, and how that went: a branch, or
/// "12 times".
void tellDecision(graph::Node& node, const std::string& control, const std::string& taken);
/// What a graph that unroll() made was decided by, in the order of its nodes; nothing for other graphs.
[[nodiscard]] std::vector<ControlDecision> decisionsOf(const graph::Graph& graph);

} // namespace retro::execute
