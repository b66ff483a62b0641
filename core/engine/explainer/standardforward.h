// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/engine/explainer/relevancesteps.h"
#include "core/execute/boundmodel.h"

#include <functional>

namespace retro::engine
{

/// Adds a node of a rewritten model to a graph of one operator set, as nodes of the standard: operators of our own in
/// steps, older forms in the newer one. `copy` gives the value there of one of the model. Errors (Input): an operator
/// that the standard has not, or that means something else in the operator set.
[[nodiscard]] base::Result<void> addStandardNode(graph::GraphBuilder& builder, RelevanceSteps& steps,
                                                 const execute::BoundModel& model, const graph::Node& node,
                                                 const std::function<ValueId(graph::ValueId)>& copy);

} // namespace retro::engine
