// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/engine/explain/explain.h"
#include "core/engine/plan/planwish.h"

namespace retro::engine
{

/// The relevance of a request that a plan carries out (carriesOut() of plannedsaving.h says which), by the joint graph
/// of forward and relevance: within the plan's memory, bit by bit the relevance of a pass that keeps everything. Where
/// relevance of values inside is wanted and `onRelevance` does not take it, the result holds it on top of the plan's
/// memory. Errors: as explain() and plannedGradient().
[[nodiscard]] base::Result<ExplainResult> plannedRelevance(const LoadedModel& model, const ExplainRequest& request,
                                                           const PlanOptions& wish, const std::stop_token& stop = {},
                                                           const StageProgress& progress = {});

} // namespace retro::engine
