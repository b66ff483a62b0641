// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/engine/explain/explain.h"
#include "core/engine/plan/planning.h"
#include "core/engine/plan/planwish.h"

#include <memory>
#include <stop_token>

namespace retro::engine
{

/// A pass that plans are made for, bound to the inputs of its question.
struct PassPlanning
{
    std::shared_ptr<const PassSubject> subject;
    std::shared_ptr<const runtime::JointProgram> program;
    PlannedHalf half;
};

/// The pass that a question asks for: relevance by its composite from its targets on, or the gradient of its target.
/// Errors: as explain(), jointProgram(); Usage (the target carries no gradient).
[[nodiscard]] base::Result<PassPlanning> passPlanningOf(const LoadedModel& model, const ExplainRequest& question,
                                                        analysis::JointKind kind, const std::stop_token& stop = {});

/// The forward operators of a joint graph by themselves; their results are required at
/// the end: those that no forward operator reads. Errors: as OpGraph::make().
[[nodiscard]] base::Result<analysis::JointGraph> forwardAlone(const analysis::JointGraph& joint);

} // namespace retro::engine
