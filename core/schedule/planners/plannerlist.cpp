// SPDX-License-Identifier: Apache-2.0
#include "core/schedule/planners/plannerlist.h"

#include <algorithm>
#include <array>

namespace retro::schedule
{

std::span<const Planner> planners()
{
    static const std::array kAll{kStoreAll,
                                 kRecomputeAll,
                                 kSqrt,
                                 kInterval,
                                 kRevolve,
                                 kRotor,
                                 kMinCut,
                                 kKnapsack,
                                 kTorchSecondProduct,
                                 kTorchMemoryBudget,
                                 kDtr,
                                 kDtrOnline,
                                 kShave,
                                 kExact,
                                 kUser,
                                 kCheckmate,
                                 kAnneal,
                                 kOffload};
    return kAll;
}

const Planner* findPlanner(std::string_view name)
{
    const auto all = planners();
    const auto at = std::ranges::find_if(all, [&](const Planner& planner) { return planner.name == name; });
    return at == all.end() ? nullptr : &*at;
}

} // namespace retro::schedule
