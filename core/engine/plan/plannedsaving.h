// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/engine/explain/explain.h"
#include "core/engine/plan/carriedplan.h"
#include "core/engine/plan/planwish.h"

#include <vector>

namespace retro::engine
{

/// The forward values at the turn of a plan, where its first gradient (relevance) operator starts.
struct AtTurn
{
    std::vector<base::ValueId> kept;          ///< in memory; inputs and constants are left out
    std::vector<trace::DroppedValue> dropped; ///< all others, by number, with the step at which each goes
};
/// Follows the forward steps of `plan`, which is of the graph of `program`.
[[nodiscard]] AtTurn atTurn(const runtime::JointProgram& program, const schedule::Plan& plan);

/// For ExplainRequest::keptByPlan: makes or reads the plan of the relevance from the targets on that is wished for.
/// Errors: as jointProgram() and choosePlan().
[[nodiscard]] KeptByPlan keptBy(PlanOptions wish);
/// What the plan of a request has to keep to; null where none says what is kept.
[[nodiscard]] const PlanOptions* planWishOf(const ExplainRequest& request);
/// What the plan has to keep to that carries out the whole pass of a request; null where another way makes the pass.
[[nodiscard]] const PlanOptions* carriesOut(const ExplainRequest& request);

/// The request is of another pass than that of its plan: one is made within the same budget, and the search is not
/// recorded.
void planAnew(ExplainRequest& request);

/// For ExplainRequest::keptByPlan: what a gradient of the inputs alone, from the same targets, reads (`--save frozen`).
struct KeptForInputs
{
    base::Result<KeptValues> operator()(const PassSubject& subject) const;
};
/// True where a request keeps that.
[[nodiscard]] bool keepsForInputs(const ExplainRequest& request);

} // namespace retro::engine
