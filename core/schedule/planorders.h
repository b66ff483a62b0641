// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/analysis/joint.h"
#include "core/schedule/portfolio.h"

#include <string>
#include <string_view>
#include <vector>

namespace retro::schedule
{

/// What planInOrders() takes for "the best orders".
inline constexpr std::string_view kAutoOrder = "auto";

/// An order of the forward operators, carried on to all of a joint graph: those operators in it, then the second half
/// in reverse.
struct CandidateOrder
{
    std::string name;               ///< of the heuristic, the first one that gave it
    std::vector<OpId> sequence;     ///< operators of the joint graph
    std::uint64_t storeAllPeak = 0; ///< bytes, when nothing is computed twice
    std::uint64_t forwardPeak = 0;  ///< bytes, of the forward operators alone
};

/// Distinct sequences of all heuristics that run on a graph of this size, ranked by store-all peak, then by forward
/// peak, then as analysis::kOrderHeuristics lists them. `joint` is the joint graph of `forward`; of a captured training
/// step, which is its own joint graph, there is one order. O(heuristics).
[[nodiscard]] std::vector<CandidateOrder> candidateOrders(const OpGraph& forward, const analysis::JointGraph& joint,
                                                          const std::stop_token& stop = {});

/// As planWith(), on several orders of the forward operators. `order` "auto": the first three of candidateOrders() and
/// kahn share the seconds of the request; the cheapest plan that fits wins, the first of equals; `best` goes on from
/// the order that won. Another name: that order alone. A strategy that is one planner takes part as itself. The request
/// is about `joint.graph`; so are the steps of the plan. PlanResult::order and Attempt::order say which orders were
/// used. Errors: as planWith(); Usage (no such order).
[[nodiscard]] base::Result<PlanResult> planInOrders(std::string_view strategy, std::string_view order,
                                                    const OpGraph& forward, const analysis::JointGraph& joint,
                                                    const PlanRequest& request);

} // namespace retro::schedule
