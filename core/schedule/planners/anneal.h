// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/schedule/planner.h"

namespace retro::schedule
{

/// Work of an annealing that has so many seconds, in positions looked at; less than what a slow machine does in them.
/// It ends there, so that the same request gives the same plan everywhere; the clock is only the last resort.
[[nodiscard]] std::uint64_t annealWork(double seconds);

/// Improves a sequence until `work` is done, the request's time is over or its cost is `lowerBound`: deletes some
/// repeated computations, moves operators that run once inside their slack, shaves and prunes again; worse results are
/// taken by chance. Never returns a worse sequence, and none that is worse for more work.
[[nodiscard]] std::vector<OpId> annealed(const PlanRequest& request, std::vector<OpId> start, double lowerBound,
                                         std::uint64_t work);
/// What the planner `anneal` does behind its shaving, when it is asked for a plan in so many seconds.
[[nodiscard]] std::uint64_t annealWorkAlone(double seconds);

} // namespace retro::schedule
