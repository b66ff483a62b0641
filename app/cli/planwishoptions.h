// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "app/cli/context.h"
#include "core/engine/plan/planwish.h"
#include "core/runtime/planrun.h"

#include <string>
#include <vector>

namespace retro::app
{

/// --plan, --budget, --strategy: a pass that keeps to a plan, as `grad` and `explain` take it.
struct PlanWishOptions
{
    engine::PlanWish wish;
    std::string file;
    std::size_t rows = 0;

    void addTo(CLI::App& verb);
    /// True when the pass is to run by a plan.
    [[nodiscard]] bool isAsked() const { return !file.empty() || !wish.budget.empty() || m_strategy->count() > 0; }
    /// All that is wished for, the plan's text included: equal words ask for the same.
    [[nodiscard]] std::vector<std::string> words() const;
    /// The wish. Errors (Usage): a plan and a strategy at once.
    [[nodiscard]] base::Result<engine::PlanWish> checked() const;

private:
    CLI::Option* m_strategy = nullptr;
    std::string m_tier; ///< NAME=BYTES per second; empty = nothing moves
    double m_secondsPerCost = 0;
};

/// What a plan promised and what it took: "plan", "predicted", "measured" and, for `rows` > 0, "steps".
[[nodiscard]] nlohmann::ordered_json planRunJson(const runtime::JointProgram& program, const engine::ChosenPlan& chosen,
                                                 const runtime::PlanRun& run, std::size_t rows);
/// The same as a table.
void sayPlanRun(const Context& context, const runtime::JointProgram& program, const engine::ChosenPlan& chosen,
                const runtime::PlanRun& run, std::size_t rows);

} // namespace retro::app
