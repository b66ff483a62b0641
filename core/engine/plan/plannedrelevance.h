// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/engine/explain/explain.h"
#include "core/engine/plan/planwish.h"
#include "core/runtime/planrun.h"

#include <functional>
#include <memory>

namespace retro::engine
{

/// A relevance pass that a plan carried out.
struct PlannedRelevance
{
    ExplainResult result; ///< relevance of the inputs and of the request's checkpoints alone
    std::shared_ptr<const runtime::JointProgram> program;
    ChosenPlan chosen;
    runtime::PlanRun run;
};

/// The oracle by a plan of the joint graph of forward and relevance: within the plan's memory, bit by bit the relevance
/// of the oracle, which keeps everything. `onRelevance`, when given, gets the relevance of every value as it is made.
/// Errors: as explain() and plannedGradient().
[[nodiscard]] base::Result<PlannedRelevance> plannedRelevance(
    const LoadedModel& model, const ExplainRequest& request, const PlanOptions& wish,
    runtime::PlanRunOptions options = {},
    const std::function<base::Result<void>(const execute::BoundModel&, base::ValueId, const tensor::Tensor&)>&
        onRelevance = {});

} // namespace retro::engine
