// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/engine/explain/explain.h"
#include "core/engine/plan/planwish.h"
#include "core/runtime/planrun.h"
#include "core/trace/run.h"
#include "core/trace/runplan.h"

#include <memory>

namespace retro::engine
{

/// A forward pass that a plan carried out, recorded.
struct PlannedForward
{
    std::shared_ptr<const execute::BoundModel> model;
    std::vector<tensor::Tensor> outputs; ///< per graph output
    runtime::PlanRun run;
    std::shared_ptr<trace::Run> recorded;          ///< no rules and no relevance: `start` says "forward"
    std::shared_ptr<const trace::RunPlan> runPlan; ///< beside it
};

/// The forward pass alone to the inputs and target of a question, by a plan of its forward operators (forwardAlone() of
/// the joint graph of its gradient). Errors: as passPlanningOf(), choosePlan(), runtime::runPlan().
[[nodiscard]] base::Result<PlannedForward> recordedPlannedForward(const LoadedModel& model,
                                                                  const ExplainRequest& question, PlanOptions wish,
                                                                  runtime::PlanRunOptions options = {});

} // namespace retro::engine
