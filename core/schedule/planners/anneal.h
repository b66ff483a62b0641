// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/schedule/planner.h"

namespace retro::schedule
{

/// Improves a sequence until the request's time is over or its cost is `lowerBound`: deletes some repeated
/// computations, moves operators that run once inside their slack, shaves and prunes again; worse results are taken by
/// chance. Never returns a worse sequence. The result depends on how far it gets in its time.
[[nodiscard]] std::vector<OpId> annealed(const PlanRequest& request, std::vector<OpId> start, double lowerBound);

} // namespace retro::schedule
