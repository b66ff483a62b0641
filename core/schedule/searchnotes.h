// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/schedule/planner.h"

namespace retro::schedule
{

/// Why the planner of that name lets values go.
[[nodiscard]] event::PlanReason reasonOf(std::string_view planner);

/// Tells the listener of a request what a draft is, where there is a listener: its cuts and, unless `tellsDrops` is
/// false (the planner told them while it searched), every value that is made more than once. The gain of such a drop
/// is its bytes times the computations that it is away for, the cost that of the operator that makes it again.
void reportDraft(const PlanRequest& request, const Draft& draft, event::PlanReason reason, bool tellsDrops);

/// A candidate as a draft of `planner` is judged; computes its peak only where there is a listener.
void reportCandidate(const PlanRequest& request, std::string_view planner, const std::vector<OpId>& sequence,
                     double cost, bool isBest);

} // namespace retro::schedule
