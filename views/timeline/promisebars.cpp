// SPDX-License-Identifier: Apache-2.0
#include "views/timeline/promisebars.h"

#include <algorithm>
#include <array>
#include <unordered_map>

namespace retro::views
{

PromiseBars promiseBars(const trace::Run& run, const trace::VisitSeries& series)
{
    PromiseBars out;
    if (run.visitCount() == 0) {
        return out;
    }
    std::unordered_map<std::uint32_t, std::uint64_t> completed;
    for (const std::uint64_t step : series.promisesCompleted) {
        completed.emplace(run.events[step].promise, step);
    }
    std::array<std::uint32_t, kMostBarRows> freeFrom{}; // per row: the visit from which on it is free
    for (const std::uint64_t step : series.promisesOpened) {
        PromiseBar bar;
        bar.promise = run.events[step].promise;
        bar.openedAt = step;
        bar.from = run.visitOf(step);
        const auto end = completed.find(bar.promise);
        const bool isFulfilled = end != completed.end();
        bar.fulfilledAt = isFulfilled ? end->second : run.eventCount();
        bar.to = isFulfilled ? run.visitOf(end->second) : run.visitCount() - 1;
        const auto free = std::ranges::find_if(freeFrom, [&](std::uint32_t visit) { return visit <= bar.from; });
        bar.row =
            free != freeFrom.end() ? static_cast<std::uint32_t>(free - freeFrom.begin()) : bar.promise % kMostBarRows;
        freeFrom[bar.row] = std::max(freeFrom[bar.row], bar.to + 1);
        out.rows = std::max(out.rows, bar.row + 1);
        out.bars.push_back(bar);
    }
    return out;
}

} // namespace retro::views
