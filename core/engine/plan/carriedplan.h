// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/engine/plan/planwish.h"
#include "core/runtime/planrun.h"
#include "core/schedule/simulator.h"

#include <memory>
#include <optional>

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

} // namespace retro::engine
