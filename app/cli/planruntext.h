// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "app/cli/context.h"
#include "core/engine/plan/planwish.h"
#include "core/runtime/planrun.h"

#include <cstddef>

namespace retro::app
{

/// What a plan promised and what it took: "plan", "predicted", "measured" and, for `rows` > 0, "steps".
[[nodiscard]] nlohmann::ordered_json planRunJson(const runtime::JointProgram& program, const engine::ChosenPlan& chosen,
                                                 const runtime::PlanRun& run, std::size_t rows);
/// The same as a table.
void sayPlanRun(const Context& context, const runtime::JointProgram& program, const engine::ChosenPlan& chosen,
                const runtime::PlanRun& run, std::size_t rows);

} // namespace retro::app
