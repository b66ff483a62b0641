// SPDX-License-Identifier: Apache-2.0
#include "core/schedule/cutchain.h"
#include "core/schedule/planners/blockends.h"
#include "core/schedule/planners/candidates.h"
#include "core/schedule/planners/plannerlist.h"

#include <array>
#include <set>

namespace retro::schedule
{

namespace
{

/// Tried first, and where time is short nothing else.
constexpr std::array<std::size_t, 8> kFirstCounts{2, 3, 5, 8, 12, 20, 40, 80};
/// Every number of blocks is tried up to here.
constexpr std::size_t kEveryCount = 16;

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

/// Tries numbers of blocks; the best of all drafts stays.
class Counts
{
public:
    Counts(const PlanRequest& request, Halves halves)
        : m_request(request), m_halves(std::move(halves)), m_deadline(request), m_best(request)
    {}

    /// False when time is over and there is a draft.
    bool tryCount(std::size_t count)
    {
        if (count == 0 || count > m_halves.forward.size() || !m_tried.insert(count).second) {
            return true;
        }
        if (m_best.hasAny() && m_deadline.isOver()) {
            return false;
        }
        tryEnds(narrowEnds(*m_request.graph, m_halves.forward, count), count);
        return true;
    }

    void tryEnds(std::vector<std::uint32_t> ends, std::size_t count)
    {
        const CutChain chain(*m_request.graph, m_halves, std::move(ends));
        const double cost = m_best.hasAny() ? m_best.cost() : 0;
        const std::uint64_t peak = m_best.hasAny() ? m_best.peak() : 0;
        offer(m_best, chain, FlatSplitter(), false, m_deadline);
        offer(m_best, chain, MidpointSplitter(1), true, m_deadline);
        offer(m_best, chain, MidpointSplitter(3), true, m_deadline);
        const bool isNew = m_best.hasAny() && (cost != m_best.cost() || peak != m_best.peak());
        m_bestCount = isNew ? count : m_bestCount;
    }

    [[nodiscard]] std::size_t bestCount() const { return m_bestCount; }
    [[nodiscard]] std::size_t length() const { return m_halves.forward.size(); }
    [[nodiscard]] const std::vector<OpId>& forward() const { return m_halves.forward; }
    [[nodiscard]] base::Result<Draft> take() && { return std::move(m_best).take(); }

private:
    const PlanRequest& m_request;
    Halves m_halves;
    Deadline m_deadline;
    BestDraft m_best;
    std::set<std::size_t> m_tried;
    std::size_t m_bestCount = 0;
};

/// All small numbers of blocks, then numbers that grow by a quarter, then those near the best; a few well-known ones
/// first, so that a short time is spent well.
void tune(Counts& counts)
{
    for (const std::size_t count : kFirstCounts) {
        if (!counts.tryCount(count)) {
            return;
        }
    }
    for (std::size_t count = 1; count <= counts.length(); count += count < kEveryCount ? 1 : (count + 3) / 4) {
        if (!counts.tryCount(count)) {
            return;
        }
    }
    const std::size_t best = counts.bestCount();
    for (std::size_t near = best < 2 ? 1 : best - 2; near <= best + 2 && counts.tryCount(near); ++near) {
    }
}

base::Result<Draft> intervalDraft(const PlanRequest& request)
{
    Counts counts(request, halvesOf(*request.graph, request.baseSequence()));
    if (request.blocks.isAuto()) {
        tune(counts);
    } else if (counts.length() > 0) {
        counts.tryEnds(chosenBlockEnds(request.blocks, *request.graph, counts.forward()), 1);
    }
    return std::move(counts).take();
}

} // namespace

const Planner kInterval{"interval", "recompute in blocks",
                        "blocks between the narrowest cut sets, replayed right to left, one level or as a halving tree",
                        &intervalDraft};

} // namespace retro::schedule
