// SPDX-License-Identifier: Apache-2.0
#include "core/schedule/lifetimes.h"
#include "core/schedule/planners/plannerlist.h"
#include "core/schedule/planners/shaver.h"
#include "core/schedule/simulator.h"

#include <algorithm>
#include <array>

namespace retro::schedule
{

namespace
{

/// How far between the budget and what store-all needs the sequences are shaved to before the rest is moved.
constexpr std::array kShares{0.25, 0.5, 0.75};
/// Sequences of more computations are moved as they are.
constexpr std::size_t kMostShaved = 3000;

/// A time in which a value waits in memory: from one computation that touches it to the next.
struct Gap
{
    OpValueId value = 0;
    std::uint32_t from = 0; ///< position that makes or reads it
    std::uint32_t to = 0;   ///< position that reads it next
    std::uint64_t bytes = 0;
    double exposed = 0; ///< seconds of its two copies that no computation hides
};

/// Moves waiting values of one sequence of computations to a tier and back until it fits.
class Mover
{
public:
    Mover(const PlanRequest& request, std::vector<OpId> sequence)
        : m_graph(*request.graph), m_request(request), m_sequence(std::move(sequence)),
          m_memory(memoryOf(m_graph, m_sequence)), m_fetched(m_sequence.size()), m_moved(m_sequence.size())
    {
        double now = 0;
        for (const OpId op : m_sequence) {
            m_start.push_back(now);
            now += m_graph.op(op).cost * request.secondsPerCost;
        }
        m_start.push_back(now);
    }

    /// The steps; empty when even moving everything that waits is not enough.
    std::vector<Step> steps()
    {
        findGaps();
        if (!choose()) {
            return {};
        }
        placeFetches();
        return withMoves();
    }

private:
    [[nodiscard]] double copySeconds(std::uint64_t bytes) const
    {
        return static_cast<double>(bytes) / m_request.tier->bytesPerSecond;
    }

    void findGaps()
    {
        std::vector<std::uint32_t> touched(m_graph.values().size(), kNone);
        for (std::uint32_t at = 0; at < m_sequence.size(); ++at) {
            for (const OpValueId id : m_graph.reads(m_sequence[at])) {
                if (touched[id] != kNone && at >= touched[id] + 2) {
                    addGap(id, touched[id], at);
                }
                touched[id] = at;
            }
            for (const OpValueId id : m_graph.op(m_sequence[at]).outputs) {
                touched[id] = at;
            }
        }
        std::ranges::stable_sort(m_gaps, {}, &Gap::from);
    }

    void addGap(OpValueId id, std::uint32_t from, std::uint32_t to)
    {
        const analysis::OpValue& value = m_graph.value(id);
        if (!value.isPinned && value.producer != kNone && value.bytes > 0) {
            const double hidden = m_start[to] - m_start[from + 1];
            m_gaps.push_back({id, from, to, value.bytes, std::max(0.0, 2 * copySeconds(value.bytes) - hidden)});
        }
    }

    /// What is best moved first: copies that hide behind computations, then what is read last.
    static bool isBetter(const Gap& a, const Gap& b)
    {
        const double left = a.exposed * static_cast<double>(b.bytes);
        const double right = b.exposed * static_cast<double>(a.bytes);
        return left != right ? left < right : a.to > b.to || (a.to == b.to && a.bytes > b.bytes);
    }

    /// Chooses gaps until no position is over the budget; false when nothing is left to choose.
    bool choose()
    {
        std::vector<std::size_t> open; // gaps around the position that are not chosen
        std::size_t next = 0;
        for (std::uint32_t at = 0; at < m_sequence.size(); ++at) {
            for (; next < m_gaps.size() && m_gaps[next].from < at; ++next) {
                open.push_back(next);
            }
            std::erase_if(open, [&](std::size_t gap) { return m_gaps[gap].to <= at; });
            while (m_memory[at] > m_request.budget) {
                const auto best = std::ranges::min_element(
                    open, [&](std::size_t a, std::size_t b) { return isBetter(m_gaps[a], m_gaps[b]); });
                if (best == open.end()) {
                    return false;
                }
                move(m_gaps[*best]);
                open.erase(best);
            }
        }
        return true;
    }

    void move(const Gap& gap)
    {
        for (std::uint32_t at = gap.from + 1; at < gap.to; ++at) {
            m_memory[at] -= gap.bytes;
        }
        m_moved[gap.from].push_back(gap.value);
        m_chosen.push_back(gap);
    }

    /// Issues each way back so early that it ends before the reader, as far as the budget has room; the last first,
    /// because copies follow one another.
    void placeFetches()
    {
        std::ranges::stable_sort(m_chosen, std::greater<>{}, &Gap::to);
        double free = m_start.back();
        for (const Gap& gap : m_chosen) {
            const double wanted = std::min(free, m_start[gap.to]) - copySeconds(gap.bytes);
            std::uint32_t at = gap.to;
            while (at > gap.from + 2 && m_start[at] > wanted && m_memory[at - 1] + gap.bytes <= m_request.budget) {
                --at;
                m_memory[at] += gap.bytes;
            }
            m_fetched[at].push_back(gap.value);
            free = wanted;
        }
        for (std::vector<OpValueId>& one : m_fetched) {
            std::ranges::reverse(one); // what is read first comes first
        }
    }

    [[nodiscard]] std::vector<Step> withMoves() const
    {
        std::vector<Step> steps;
        std::size_t at = 0;
        for (const Step& step : planOf(m_graph, m_sequence).steps) {
            if (step.kind != StepKind::Compute) {
                steps.push_back(step);
                continue;
            }
            for (const OpValueId id : m_fetched[at]) {
                steps.push_back({StepKind::Prefetch, id, 0});
            }
            steps.push_back(step);
            for (const OpValueId id : m_moved[at]) {
                steps.push_back({StepKind::Offload, id, 0});
            }
            ++at;
        }
        return steps;
    }

    const OpGraph& m_graph;
    const PlanRequest& m_request;
    std::vector<OpId> m_sequence;
    std::vector<std::uint64_t> m_memory; ///< by position, without what is away
    std::vector<double> m_start;         ///< seconds, by position; the end behind
    std::vector<Gap> m_gaps;
    std::vector<Gap> m_chosen;
    std::vector<std::vector<OpValueId>> m_fetched; ///< by the position before which they are issued
    std::vector<std::vector<OpValueId>> m_moved;   ///< by the position behind which they are issued
};

/// Keeps the plan that ends first.
class Fastest
{
public:
    explicit Fastest(const PlanRequest& request) : m_request(request) {}

    void offer(const std::vector<OpId>& sequence)
    {
        Plan plan;
        plan.steps = Mover(m_request, sequence).steps();
        if (plan.steps.empty()) {
            return;
        }
        plan.tiers = {*m_request.tier};
        plan.budget = m_request.budget;
        plan.graphHash = m_request.graph->hash();
        const Simulation run = simulate(*m_request.graph, plan, {std::nullopt, m_request.secondsPerCost, false});
        if (run.ok() && (m_best.steps.empty() || run.seconds < m_seconds)) {
            m_best.sequence = sequence;
            m_best.steps = std::move(plan.steps);
            m_best.tiers = std::move(plan.tiers);
            m_seconds = run.seconds;
        }
    }

    [[nodiscard]] base::Result<Draft> take() &&
    {
        if (m_best.steps.empty()) {
            return base::engineError("what runs at once needs more than the budget, wherever all else is moved");
        }
        return std::move(m_best);
    }

private:
    const PlanRequest& m_request;
    Draft m_best;
    double m_seconds = 0;
};

base::Result<Draft> offloadDraft(const PlanRequest& request)
{
    if (!request.tier || !(request.tier->bytesPerSecond > 0)) {
        return base::engineError("values can be moved only where a tier and its bandwidth are given");
    }
    const std::vector<OpId> base = request.baseSequence();
    Fastest best(request);
    best.offer(base);
    const std::uint64_t most = peakOf(*request.graph, base);
    const Deadline deadline(request);
    for (const double share : base.size() <= kMostShaved && most > request.budget ? std::span<const double>(kShares)
                                                                                  : std::span<const double>()) {
        if (deadline.isOver()) {
            break;
        }
        // Some is computed again, the rest moves.
        std::vector<OpId> sequence = base;
        const auto room = static_cast<std::uint64_t>(share * static_cast<double>(most - request.budget));
        ShaveOptions options;
        options.isOver = [&] { return deadline.isOver(); };
        if (shave(*request.graph, request.budget + room, sequence, options)) {
            best.offer(sequence);
        }
    }
    return std::move(best).take();
}

} // namespace

const Planner kOffload{"offload", "moves to slower memory",
                       "moves waiting values to a tier and back, hidden behind computations as its bandwidth allows, "
                       "with and without computing others again",
                       &offloadDraft, false};

} // namespace retro::schedule
