// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "views/common/viewcontext.h"
#include "views/graph/graphstatus.h"

#include <QString>

namespace retro::views
{

/// A node in one sentence after another, one per line: name, operator and shape, rule, mode, promises, relevance.
[[nodiscard]] QString describeNode(const RunModel& model, base::NodeId node);
/// A box: its node, or what a closed group holds.
[[nodiscard]] QString describeBox(const RunModel& model, const GraphScene& scene, const GraphStatus& status,
                                  layout::Index box);
/// An edge: the values that it carries and the relevance that has passed.
[[nodiscard]] QString describeEdge(const RunModel& model, const GraphScene& scene, const GraphStatus& status,
                                   layout::Index edge);
/// "encoder › layer.1"; empty for a node without scope.
[[nodiscard]] QString scopePath(const graph::Graph& graph, base::NodeId node);

} // namespace retro::views
