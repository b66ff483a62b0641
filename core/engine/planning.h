// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/analysis/fromgraph.h"
#include "core/analysis/joint.h"
#include "core/engine/loadmodel.h"
#include "core/execute/boundmodel.h"

#include <map>
#include <stop_token>

namespace retro::engine
{

/// Sizes for the symbols that a graph's inputs declare: "N" → 8.
using SymbolSizes = std::map<std::string, std::int64_t>;

/// The planning graph of a model. Where its operators are implemented and its shapes can be worked out, sizes,
/// operations and what gradients read come from binding it in float32, the inputs' symbols at `sizes` (1 where none is
/// given, which a warning says); else they come from what the graph states. Errors (Input) carry the model's path: a
/// symbol that no input has (Usage), a value whose size nobody knows, with what kept the graph from being bound.
[[nodiscard]] base::Result<analysis::PlanningGraph> planningGraphOf(const LoadedModel& model, const SymbolSizes& sizes,
                                                                    const std::stop_token& stop = {});
/// The planning graph of a bound model. The second half starts at `outputs`; empty = at the outputs of the graph.
[[nodiscard]] base::Result<analysis::PlanningGraph> planningGraphOf(const execute::BoundModel& model,
                                                                    std::vector<base::ValueId> outputs = {});

/// What planners work on: the planning graph of a model and its joint graph with gradients.
struct JointPlanning
{
    analysis::PlanningGraph planning;
    analysis::JointGraph joint;
};

/// The joint graph of a model, its forward operators in the order of first come, first served. Graph JSON is taken as
/// it stands, without rewrites. Errors: as planningGraphOf() and analysis::jointOf(); Cancelled.
[[nodiscard]] base::Result<JointPlanning> jointPlanningOf(const LoadedModelPointer& model,
                                                          const std::stop_token& stop = {});

} // namespace retro::engine
