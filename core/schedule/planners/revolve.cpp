// SPDX-License-Identifier: Apache-2.0
#include "core/schedule/cutchain.h"
#include "core/schedule/planners/blockends.h"
#include "core/schedule/planners/candidates.h"
#include "core/schedule/planners/plannerlist.h"
#include "core/schedule/planners/revolvetable.h"

#include <algorithm>

namespace retro::schedule
{

RevolveTable::RevolveTable(std::uint32_t length, std::uint32_t states)
    : m_steps(states + 1, std::vector<std::uint64_t>(length + 1, 0)),
      m_advance(states + 1, std::vector<std::uint32_t>(length + 1, 0))
{
    for (std::uint64_t l = 1; l <= length; ++l) {
        m_steps[1][l] = l * (l - 1) / 2;
    }
    for (std::uint32_t c = 2; c <= states; ++c) {
        for (std::uint32_t l = 2; l <= length; ++l) {
            choose(c, l);
        }
    }
}

void RevolveTable::choose(std::uint32_t c, std::uint32_t l)
{
    const auto stepsOver = [&](std::uint32_t m) { return m + m_steps[c - 1][l - m] + m_steps[c][m]; };
    std::uint32_t best = 1;
    for (std::uint32_t m = 2; m < l; ++m) {
        best = stepsOver(m) < stepsOver(best) ? m : best;
    }
    m_advance[c][l] = best;
    m_steps[c][l] = stepsOver(best);
}

std::uint64_t revolveClosedForm(std::uint32_t length, std::uint32_t states)
{
    if (length <= 1) {
        return 0;
    }
    std::uint64_t reach = 1;  // C(c + r, c)
    std::uint64_t beyond = 0; // C(c + r, c + 1)
    std::uint64_t r = 0;
    while (reach < length) {
        beyond += reach;
        ++r;
        reach = reach * (states + r) / r;
    }
    return r * length - beyond;
}

namespace
{

constexpr std::uint32_t kMostStages = 200;
constexpr std::uint32_t kMostStates = 48;

class RevolveSplitter : public Splitter
{
public:
    explicit RevolveSplitter(const RevolveTable& table) : m_table(table) {}

    [[nodiscard]] Split split(std::uint32_t low, std::uint32_t high, int states) const override
    {
        if (high - low <= 1 || states <= 1) {
            return {{}, {}, high - low <= 1}; // without a state to store, each gradient starts from the left end
        }
        const std::uint32_t advance = m_table.advance(high - low, static_cast<std::uint32_t>(states));
        return {{low + advance}, {states, states - 1}, true};
    }

private:
    const RevolveTable& m_table;
};

base::Result<Draft> revolveDraft(const PlanRequest& request)
{
    const Halves halves = halvesOf(*request.graph, request.baseSequence());
    if (halves.forward.empty()) {
        return base::engineError("the graph has no forward operators: there is nothing to rebuild");
    }
    const CutChain chain(*request.graph, halves, endsFor(request, halves.forward, kMostStages));
    const auto length = static_cast<std::uint32_t>(chain.size());
    const std::uint32_t states = std::min(length, kMostStates);
    const RevolveTable table(length, states);
    const Deadline deadline(request);
    BestDraft best(request);
    for (std::uint32_t count = states; count >= 1; --count) {
        std::optional<IntervalReplay> replay = replayIntervals(chain, RevolveSplitter(table), static_cast<int>(count));
        if (replay) {
            Draft draft;
            draft.sequence = std::move(replay->sequence);
            draft.annotations.intervals = std::move(replay->tree);
            draft.annotations.blocks = chain.ends();
            best.offer(std::move(draft));
        }
        if (best.fits() || deadline.isOver()) {
            break; // fewer states only cost more
        }
    }
    return std::move(best).take();
}

} // namespace

const Planner kRevolve{"revolve", "Revolve",
                       "binomial checkpointing (Griewank and Walther) over the stages between cut sets", &revolveDraft};

} // namespace retro::schedule
