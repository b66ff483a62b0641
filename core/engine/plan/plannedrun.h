// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/engine/model/loadmodel.h"
#include "core/engine/plan/planevents.h"
#include "core/engine/plan/planwish.h"
#include "core/schedule/portfolio.h"
#include "core/trace/runfile.h"

#include <memory>
#include <string>

namespace retro::engine
{

/// A search for a plan as a run of the model's graph, and behind it the plan, when there is one, as the simulator
/// carries it out: its tensors are known by their bytes alone.
[[nodiscard]] std::shared_ptr<const trace::Run> plannedRun(const LoadedModel& model, const analysis::OpGraph& joint,
                                                           const PlanPlaces& places, const SearchRecord& search,
                                                           const schedule::PlanResult& result);

/// The same with the plan that was chosen, as a run file keeps both; without one where the search found none.
[[nodiscard]] trace::RecordedRun searchedRun(const LoadedModel& model, const analysis::OpGraph& forward,
                                             const analysis::JointGraph& joint, const PlanPlaces& places,
                                             SearchRecord search, const schedule::PlanResult& result,
                                             const std::string& strategy, const PlannedHalf& half);

} // namespace retro::engine
