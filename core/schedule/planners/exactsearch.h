// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/schedule/plan.h"

#include <stop_token>

namespace retro::schedule
{

/// Largest joint graph that is searched exactly, and most states that are looked at.
inline constexpr std::size_t kMaxExactJointOps = 20;
inline constexpr std::size_t kMaxExactStates = 3'000'000;

/// How an exact search ended.
enum class ExactStatus : std::uint8_t {
    Found,      ///< `sequence` is of least cost
    Infeasible, ///< proven: no plan fits the budget
    TooLarge    ///< nothing is known: more operators, states or results per operator than the search takes, or stopped
};

/// Result of exactPlan().
struct ExactPlan
{
    ExactStatus status = ExactStatus::TooLarge;
    std::vector<OpId> sequence;
    double cost = 0;
};

/// Which operators run for the first time in the order of their ids.
enum class FixedOrder : std::uint8_t { None, Gradients, All };

/// Cheapest plan of all with that order, by least-cost search over (what is in memory, what has run). Only for
/// operators of at most one result.
[[nodiscard]] ExactPlan exactPlan(const OpGraph& joint, std::uint64_t budget, FixedOrder fixed = FixedOrder::None,
                                  const std::stop_token& stop = {});

} // namespace retro::schedule
