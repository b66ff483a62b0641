// SPDX-License-Identifier: Apache-2.0
#include "core/schedule/departures.h"

namespace retro::schedule
{

std::vector<std::vector<OpValueId>> departures(const Plan& plan, const Simulation& predicted)
{
    std::vector<std::vector<OpValueId>> leaving(plan.steps.size() + 1);
    for (const Stay& stay : predicted.stays) {
        const bool isAtEnd = stay.until >= plan.steps.size();
        const bool isFreed = !isAtEnd && plan.steps[stay.until] == Step{StepKind::Free, stay.value};
        if (!isAtEnd && !isFreed) {
            leaving[stay.until].push_back(stay.value);
        }
    }
    return leaving;
}

} // namespace retro::schedule
