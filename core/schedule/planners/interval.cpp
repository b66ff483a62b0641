// SPDX-License-Identifier: Apache-2.0
#include "core/schedule/cutchain.h"
#include "core/schedule/planners/candidates.h"
#include "core/schedule/planners/plannerlist.h"

#include <array>

namespace retro::schedule
{

namespace
{

constexpr std::array<std::size_t, 8> kBlockCounts{2, 3, 5, 8, 12, 20, 40, 80};

/// Offers a replay; nothing when time is over and there is one.
void offer(BestDraft& best, const CutChain& chain, const Splitter& splitter, bool isTree, const Deadline& deadline)
{
    if (best.hasAny() && deadline.isOver()) {
        return;
    }
    if (std::optional<IntervalReplay> replay = replayIntervals(chain, splitter, 0)) {
        Draft draft;
        draft.sequence = std::move(replay->sequence);
        draft.annotations.blocks = chain.ends();
        draft.annotations.intervals = isTree ? std::move(replay->tree) : std::vector<Interval>();
        best.offer(std::move(draft));
    }
}

base::Result<Draft> draft(const PlanRequest& request)
{
    const Halves halves = halvesOf(*request.graph, request.baseSequence());
    const Deadline deadline(request);
    BestDraft best(request);
    for (const std::size_t count : kBlockCounts) {
        if (count > halves.forward.size() || (best.hasAny() && deadline.isOver())) {
            break;
        }
        const CutChain chain(*request.graph, halves, narrowEnds(*request.graph, halves.forward, count));
        offer(best, chain, FlatSplitter(), false, deadline);
        offer(best, chain, MidpointSplitter(1), true, deadline);
        offer(best, chain, MidpointSplitter(3), true, deadline);
    }
    return std::move(best).take();
}

} // namespace

const Planner kInterval{"interval",
                        "blocks between the narrowest cut sets, replayed right to left, one level or as a halving tree",
                        &draft};

} // namespace retro::schedule
