// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/analysis/fromgraph.h"
#include "core/engine/plan/planwish.h"
#include "core/trace/runplan.h"

#include <memory>
#include <string>

namespace retro::engine
{

/// What a run keeps of the plan that carries it out; what was kept and dropped is for the pass to say.
[[nodiscard]] std::shared_ptr<trace::RunPlan> runPlanOf(const analysis::OpGraph& forward,
                                                        const analysis::JointGraph& joint, const ChosenPlan& chosen,
                                                        const PlannedHalf& half);

/// A plan out of a run, with the graphs that it is of.
struct RestoredPlan
{
    PlannedHalf half;
    analysis::OpGraph forward;
    analysis::JointGraph joint;
    std::uint64_t storeAllPeak = 0;
    double baseCost = 0;
    std::string strategy;        ///< that was asked for
    schedule::PlanResult result; ///< with the plan, which holds
};
/// Errors (Input): damaged, or a plan that does not hold for its graph.
[[nodiscard]] base::Result<RestoredPlan> restorePlan(const trace::RunPlan& plan, const std::string& where);

} // namespace retro::engine
