// SPDX-License-Identifier: Apache-2.0
#include "core/trace/run.h"

#include <algorithm>

namespace retro::trace
{

std::uint32_t Run::visitOf(std::uint64_t step) const
{
    const auto after = std::upper_bound(visitStart.begin(), visitStart.end(), step);
    return after == visitStart.begin() ? 0 : static_cast<std::uint32_t>(after - visitStart.begin() - 1);
}

std::uint64_t Run::endOfVisit(std::uint32_t visit) const
{
    return visit + std::size_t{1} < visitStart.size() ? visitStart[visit + std::size_t{1}] : events.size();
}

std::uint64_t firstEventOfPick(std::span<const Event> events, std::uint64_t visitStep)
{
    std::uint64_t first = visitStep;
    while (first > 0) {
        const Event& before = events[first - 1];
        const bool isPick = before.kind == event::EventKind::Pop || before.kind == event::EventKind::Dequeue;
        if (!isPick || before.visit != events[visitStep].visit) {
            break;
        }
        --first;
    }
    return first;
}

} // namespace retro::trace
