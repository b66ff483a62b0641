// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/engine/plan/planwish.h"
#include "core/runtime/planrun.h"
#include "core/schedule/simulator.h"
#include "core/trace/profile.h"
#include "core/trace/run.h"
#include "core/trace/runplan.h"

#include <memory>
#include <optional>
#include <span>
#include <vector>

namespace retro::engine
{

/// A plan that a pass carries out, with the joint graph that it is of. Immutable.
struct CarriedPlan
{
    std::shared_ptr<const runtime::JointProgram> program;
    PlannedHalf half;
    ChosenPlan chosen;
    schedule::Simulation predicted;           ///< of the whole plan; it holds
    std::optional<runtime::PlanRun> run = {}; ///< what was measured; none where a traversal made the second half
};

/// How a plan is to be carried out.
struct CarryWish
{
    bool isRecorded = false;
    bool isProfiled = false;                                 ///< also where it is not recorded
    const std::vector<event::LedgerEntry>* ledger = nullptr; ///< that the run fills, for its rules; may be null
    runtime::PlanRunOptions options = {};
};

/// What carrying out a plan gave beside what was taken on the way.
struct CarriedOut
{
    std::vector<tensor::Tensor> outputs;  ///< per graph output
    std::shared_ptr<trace::Run> recorded; ///< behind the search; its facts are those of the plan, without rules
    std::shared_ptr<const trace::RunPlan> runPlan; ///< beside it
    std::shared_ptr<const trace::Profile> profile;
};

/// Carries out a plan that was chosen; `carried` gets what was predicted and measured. `inputs` in the precision of the
/// run. Errors: as runtime::runPlan().
[[nodiscard]] base::Result<CarriedOut> carryOutPlan(CarriedPlan& carried, std::span<const tensor::Tensor> inputs,
                                                    const runtime::ReverseHalf& half, CarryWish wish);

/// Adds to the facts of a run what they say of its plan.
void fillPlanFacts(const ChosenPlan& chosen, trace::RunFacts& facts);

} // namespace retro::engine
