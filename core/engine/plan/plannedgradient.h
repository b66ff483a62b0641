// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/engine/explain/explain.h"
#include "core/engine/gradient/gradient.h"
#include "core/engine/plan/planning.h"
#include "core/engine/plan/planwish.h"
#include "core/runtime/planrun.h"
#include "core/trace/run.h"

#include <memory>

namespace retro::engine
{

/// A gradient pass that a plan carried out.
struct PlannedGradient
{
    GradientResult gradient; ///< `cells` and `visited` count operators of the joint graph and what ran
    std::shared_ptr<const runtime::JointProgram> program;
    ChosenPlan chosen;
    runtime::PlanRun run;
    std::shared_ptr<trace::Run> recorded;          ///< where the wish says so; without facts and rules
    std::shared_ptr<const trace::RunPlan> runPlan; ///< beside it
};

/// As gradient(), by a plan of the joint graph from the target on: bit by bit the same gradients under every plan.
/// `options.onMade` is used up; the rest goes to the run. Errors: as gradient(), choosePlan(), runtime::runPlan().
[[nodiscard]] base::Result<PlannedGradient> plannedGradient(std::shared_ptr<const execute::BoundModel> model,
                                                            const GradientRequest& request, const PlanOptions& wish,
                                                            runtime::PlanRunOptions options = {});
/// The same for a model that is not bound yet.
[[nodiscard]] base::Result<PlannedGradient> plannedGradient(const LoadedModel& model, const GradientRequest& request,
                                                            const PlanOptions& wish,
                                                            runtime::PlanRunOptions options = {});
/// The same, recorded, as explain() records a gradient: with the rules and the facts of a question whose composite is
/// `gradient`. `question.record` and what concerns other engines is not looked at.
[[nodiscard]] base::Result<PlannedGradient> recordedPlannedGradient(const LoadedModel& model,
                                                                    const ExplainRequest& question, PlanOptions wish,
                                                                    runtime::PlanRunOptions options = {});

} // namespace retro::engine
