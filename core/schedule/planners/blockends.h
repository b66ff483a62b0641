// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/schedule/cutchain.h"
#include "core/schedule/planner.h"

#include <vector>

namespace retro::schedule
{

/// Where blocks end by a wish that is not auto: that many, at the narrowest cut sets; of that many operators each; or
/// as many operators as have results of that many bytes, at least one. Not empty where `forward` is not.
[[nodiscard]] std::vector<std::uint32_t> chosenBlockEnds(const BlockWish& wish, const OpGraph& graph,
                                                         const std::vector<OpId>& forward);
/// The ends that a wish says, or about `most` of the planner's own where it is auto.
[[nodiscard]] std::vector<std::uint32_t> endsFor(const PlanRequest& request, const std::vector<OpId>& forward,
                                                 std::size_t most);

} // namespace retro::schedule
