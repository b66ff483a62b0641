// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/engine/model/loadmodel.h"
#include "core/engine/plan/planevents.h"
#include "core/schedule/portfolio.h"
#include "core/trace/run.h"

#include <memory>

namespace retro::engine
{

/// A search for a plan as a run of the model's graph, and behind it the plan, when there is one, as the simulator
/// carries it out: its tensors are known by their bytes alone.
[[nodiscard]] std::shared_ptr<const trace::Run> plannedRun(const LoadedModel& model, const analysis::OpGraph& joint,
                                                           const PlanPlaces& places, const SearchRecord& search,
                                                           const schedule::PlanResult& result);

} // namespace retro::engine
