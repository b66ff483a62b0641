// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "views/common/viewcontext.h"
#include "views/plan/shownplan.h"

#include <optional>

namespace retro::views
{

/// The row of a plan that a selected thing is about: its value, or the first result of its node that has a row. Names
/// link the two: a plan may be of a graph that was read without rewrites.
[[nodiscard]] std::optional<std::uint32_t> rowOfThing(const RunModel& model, const SelectedThing& thing,
                                                      const ShownPlan& plan);
/// The node of the run's graph that makes the tensor of a row; invalid when the graph has none of that name.
[[nodiscard]] base::NodeId nodeOfRow(const graph::Graph& graph, const ShownPlan& plan, std::uint32_t row);
/// Selects what makes the tensor of a row.
void selectRowOf(const RunModel& model, Selection& selection, const ShownPlan& plan, std::uint32_t row);
/// Nodes of the graph whose results are in memory at a column of the plan.
[[nodiscard]] std::vector<base::NodeId> liveNodes(const graph::Graph& graph, const ShownPlan& plan,
                                                  std::uint32_t column);

} // namespace retro::views
