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

/// The pass that a question asks for: relevance by its composite from its targets on, with its conditions (under
/// ConditionForm::Only the last pass, which starts at the last value), or the gradient of its target. Errors: as
/// explain(), jointProgram(); Usage (the target carries no gradient).
[[nodiscard]] base::Result<PassPlanning> passPlanningOf(const LoadedModel& model, const ExplainRequest& question,
                                                        analysis::JointKind kind, const std::stop_token& stop = {});

/// The planning graph of that pass, and what it is about in names; its warnings say what the bound model leaves out and
/// what is asked outside the pass. `half` says which pass, which inputs a gradient is of, and what is to be said in the
/// subject. Errors: as passPlanningOf(); Usage (relevance of chosen inputs).
[[nodiscard]] base::Result<SubjectPlanning> subjectPlanningOf(const LoadedModel& model, const ExplainRequest& question,
                                                              const HalfWish& half, const std::stop_token& stop = {});

/// The forward operators of a joint graph by themselves; their results are required at
/// the end: those that no forward operator reads. Errors: as OpGraph::make().
[[nodiscard]] base::Result<analysis::JointGraph> forwardAlone(const analysis::JointGraph& joint);

} // namespace retro::engine
