// SPDX-License-Identifier: Apache-2.0
#include "views/verify/stepchecks.h"

#include "core/trace/gradientrun.h"

#include <algorithm>
#include <cmath>
#include <set>
#include <utility>

namespace retro::views
{

namespace
{

/// Share of what arrived at a rule that may be unexplained, as the breakpoint `violation` has it.
constexpr double kTolerance = 1e-4;

/// Every landing is checked for three invariants: its step is kept once.
constexpr Invariant counterOf(Invariant invariant)
{
    const bool isOfLandings = invariant == Invariant::OncePerPlace || invariant == Invariant::Final;
    return isOfLandings ? Invariant::Earlier : invariant;
}

} // namespace

/// What the walk remembers.
class StepChecks::Walk
{
public:
    Walk(const trace::Run& run, std::array<Track, kInvariants>& tracks)
        : m_run(run), m_tracks(tracks), m_ruleRan(run.graph->runNodeCount(), 0), m_filled(m_ruleRan.size()),
          m_known(m_ruleRan.size())
    {}

    void see(std::uint64_t step)
    {
        const trace::Event& e = m_run.events[step];
        switch (e.kind) {
        case event::EventKind::Land:
            seeLanding(step, e);
            break;
        case event::EventKind::Take:
            m_filled.erase(e.node, e.slot);
            break;
        case event::EventKind::Rule:
            seeRule(step, e);
            break;
        case event::EventKind::Relevance:
            note(Invariant::KnownOnce, step, m_known.insert(e.node, e.slot), e);
            break;
        default:
            break;
        }
    }

private:
    /// Places of nodes (in-edges, outputs) that are marked; long runs have a million of them.
    class Marks
    {
    public:
        explicit Marks(std::size_t nodes) : m_first(nodes, 0) {}

        /// False when it was marked already.
        bool insert(std::uint32_t node, std::uint32_t place)
        {
            if (!isLow(node, place)) {
                return m_others.insert({node, place}).second;
            }
            const std::uint64_t bit = std::uint64_t{1} << place;
            const bool isNew = (m_first[node] & bit) == 0;
            m_first[node] |= bit;
            return isNew;
        }
        void erase(std::uint32_t node, std::uint32_t place)
        {
            if (isLow(node, place)) {
                m_first[node] &= ~(std::uint64_t{1} << place);
            } else {
                m_others.erase({node, place});
            }
        }

    private:
        [[nodiscard]] bool isLow(std::uint32_t node, std::uint32_t place) const
        {
            return node < m_first.size() && place < 64;
        }

        std::vector<std::uint64_t> m_first; ///< per node the first 64 places
        std::set<std::pair<std::uint32_t, std::uint32_t>> m_others;
    };

    void note(Invariant invariant, std::uint64_t step, bool holds, const trace::Event& e)
    {
        Track& track = m_tracks[at(invariant)];
        if (counterOf(invariant) == invariant) {
            track.steps.push_back(step);
        }
        if (!holds) {
            const bool hasOther = e.kind == event::EventKind::Land;
            track.breaches.push_back({step, base::NodeId(e.node), hasOther ? base::NodeId(e.other) : base::NodeId()});
        }
    }

    [[nodiscard]] bool isInput(std::uint32_t node) const { return node >= m_run.graph->nodeCount(); }

    void seeLanding(std::uint64_t step, const trace::Event& e)
    {
        const bool isSeed = e.other >= m_run.graph->runNodeCount(); // it came from nowhere
        const bool isEarlier = isSeed || (!isInput(e.other) && (isInput(e.node) || e.node < e.other));
        note(Invariant::Earlier, step, isEarlier, e);
        note(Invariant::OncePerPlace, step, m_filled.insert(e.node, e.slot), e);
        note(Invariant::Final, step, e.node >= m_ruleRan.size() || m_ruleRan[e.node] == 0, e);
    }

    void seeRule(std::uint64_t step, const trace::Event& e)
    {
        if (e.node < m_ruleRan.size()) {
            note(Invariant::OneRule, step, m_ruleRan[e.node] == 0, e);
            m_ruleRan[e.node] = 1;
        }
        const bool hasRow = e.extra >= 0 && static_cast<std::size_t>(e.extra) < m_run.ledger.size();
        if (hasRow && m_tracks[at(Invariant::Balance)].isKnown) {
            const event::LedgerEntry& row = m_run.ledger[static_cast<std::size_t>(e.extra)];
            note(Invariant::Balance, step, std::abs(row.unexplained()) <= kTolerance * row.magnitude, e);
        }
    }

    const trace::Run& m_run;
    std::array<Track, kInvariants>& m_tracks;
    std::vector<std::uint8_t> m_ruleRan; // per node
    Marks m_filled;                      // in-edges that hold a part
    Marks m_known;                       // outputs whose relevance is known
};

StepChecks::StepChecks(const trace::Run& run)
{
    m_tracks[at(Invariant::Balance)].isKnown = !run.ledger.empty() && !trace::carriesGradient(run.rules);
    Walk walk(run, m_tracks);
    for (std::uint64_t step = 0; step < run.events.size(); ++step) {
        walk.see(step);
    }
}

std::uint64_t StepChecks::checked(Invariant invariant, std::uint64_t position) const
{
    const std::vector<std::uint64_t>& steps = m_tracks[at(counterOf(invariant))].steps;
    return static_cast<std::uint64_t>(std::ranges::lower_bound(steps, position) - steps.begin());
}

const StepChecks::Breach* StepChecks::firstBreach(Invariant invariant, std::uint64_t position) const
{
    const std::vector<Breach>& breaches = m_tracks[at(invariant)].breaches;
    return !breaches.empty() && breaches.front().step < position ? &breaches.front() : nullptr;
}

} // namespace retro::views
