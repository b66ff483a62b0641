// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/schedule/planner.h"
#include "core/schedule/simulator.h"

namespace retro::schedule
{

/// What is known about a budget. "Optimal" and "infeasible" are said only with a proof.
enum class PlanStatus : std::uint8_t {
    Optimal,              ///< a plan whose cost no plan goes below
    Feasible,             ///< a plan, and a lower bound
    Infeasible,           ///< proven: no plan fits
    InfeasibleInThisOrder ///< no plan was found
};

/// "optimal", "feasible", "infeasible", "infeasible_in_this_order".
[[nodiscard]] std::string_view nameOf(PlanStatus status);

/// One planner's try.
struct Attempt
{
    std::string planner;
    std::string order; ///< of the forward operators that it was given; empty = by id
    bool fits = false;
    std::uint64_t peak = 0; ///< as the simulator says
    /// Of all computations; of a plan that moves values the time of it, stalls included, in the unit of costs.
    double cost = 0;
    double seconds = 0;
    bool isOptimalInOrder = false; ///< as Draft::isOptimalInOrder
    std::string refusal;           ///< why there is no plan of it
};

/// A plan that the simulator passed, or why there is none.
struct PlanResult
{
    PlanStatus status = PlanStatus::InfeasibleInThisOrder;
    std::optional<Plan> plan; ///< within the budget
    std::string planner;      ///< that made it
    std::string order;        ///< of the forward operators that it was given; empty = by id
    std::string reason;       ///< of the status: the proof, or what was tried
    std::uint64_t budget = 0;
    std::uint64_t peak = 0; ///< of the plan; without one, the least that was reached (0: none)
    std::uint64_t basePeak = 0;
    std::uint64_t floor = 0; ///< no plan needs less memory
    std::string floorAt;
    double cost = 0;              ///< as Attempt::cost
    std::uint64_t movedBytes = 0; ///< to the tier and back
    double baseCost = 0;
    double lowerBound = 0; ///< no plan within the budget costs less
    double seconds = 0;
    std::vector<Attempt> attempts;

    /// (cost − lower bound) / lower bound; 0 without a plan.
    [[nodiscard]] double gap() const { return plan && lowerBound > 0 ? (cost - lowerBound) / lowerBound : 0; }
};

/// Plans with one strategy: a planner by name; `fast` (every fast planner); `best` (those, then annealing for what is
/// left of the request's seconds). Each draft goes through the simulator; the cheapest that fits wins, the first of
/// equals. Errors: Usage (no such strategy), Input (contradicting choices), Cancelled. No plan within the budget is no
/// error.
[[nodiscard]] base::Result<PlanResult> planWith(std::string_view strategy, const PlanRequest& request);

} // namespace retro::schedule
