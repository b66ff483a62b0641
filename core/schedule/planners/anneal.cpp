// SPDX-License-Identifier: Apache-2.0
#include "core/schedule/planners/anneal.h"

#include "core/schedule/planners/candidates.h"
#include "core/schedule/planners/plannerlist.h"
#include "core/schedule/planners/shaver.h"

#include <algorithm>
#include <cmath>

namespace retro::schedule
{

namespace
{

/// Positions in a second, and what trying to delete a repeated computation counts for.
constexpr double kWorkPerSecond = 4e7;
constexpr std::uint64_t kWorkOfRepeat = 64;

class Annealer
{
public:
    Annealer(const PlanRequest& request, std::vector<OpId> start, std::uint64_t mostWork)
        : m_graph(*request.graph), m_request(request), m_deadline(request), m_mostWork(mostWork),
          m_random(request.seed), m_now(std::move(start)), m_best(m_now)
    {
        m_nowScore = scoreOf(m_now);
        m_bestScore = m_nowScore;
    }

    std::vector<OpId> run(double lowerBound)
    {
        for (std::size_t round = 0; m_work < m_mostWork && !m_deadline.isOver(); ++round) {
            if (m_bestScore.fits && m_bestScore.cost <= lowerBound) {
                break; // nothing is cheaper
            }
            step(round);
        }
        return m_best;
    }

private:
    struct Score
    {
        bool fits = false;
        double cost = 0;
        std::uint64_t peak = 0;
    };

    [[nodiscard]] Score scoreOf(const std::vector<OpId>& sequence) const
    {
        const std::uint64_t peak = peakOf(m_graph, sequence);
        return {peak <= m_request.budget, costOf(m_graph, sequence), peak};
    }

    [[nodiscard]] static bool isBetter(const Score& a, const Score& b)
    {
        if (a.fits != b.fits) {
            return a.fits;
        }
        return a.fits ? a.cost < b.cost : a.peak < b.peak || (a.peak == b.peak && a.cost < b.cost);
    }

    [[nodiscard]] std::size_t below(std::size_t count) { return static_cast<std::size_t>(m_random() % count); }
    [[nodiscard]] double unit() { return static_cast<double>(m_random() >> 11U) * 0x1p-53; }

    void step(std::size_t round)
    {
        std::vector<OpId> candidate = m_now;
        if (below(3) == 0) {
            moveGradient(candidate);
        }
        forgetRepeats(candidate);
        ShaveOptions options;
        options.costPower = 0.4 + 1.2 * unit();
        options.noise = unit() < 0.5 ? 0.3 : 2.0;
        options.random = &m_random;
        options.isOver = [&] { return m_deadline.isOver(); };
        options.work = &m_work;
        m_work += candidate.size(); // of copying, forgetting and scoring
        if (shave(m_graph, m_request.budget, candidate, options)) {
            m_work += candidate.size() + kWorkOfRepeat * repeats(candidate);
            prune(m_graph, m_request.budget, candidate, options.isOver);
        }
        accept(std::move(candidate), round);
    }

    /// Better ones always; worse ones by chance, less and less, and back to the best from time to time.
    void accept(std::vector<OpId> candidate, std::size_t round)
    {
        const Score score = scoreOf(candidate);
        const double heat = 0.004 / (1.0 + static_cast<double>(round % 200) / 20.0);
        const double worse = m_nowScore.cost > 0 ? (score.cost - m_nowScore.cost) / m_nowScore.cost : 0;
        const bool byChance = score.fits == m_nowScore.fits && worse >= 0 && unit() < std::exp(-worse / heat);
        if (isBetter(score, m_bestScore)) {
            m_best = candidate;
            m_bestScore = score;
            reportCandidate(m_request, {}, m_best, score.cost, false);
        }
        if (isBetter(score, m_nowScore) || (byChance && score.fits)) {
            m_now = std::move(candidate);
            m_nowScore = score;
        }
        if (round % 200 == 199) {
            m_now = m_best;
            m_nowScore = m_bestScore;
        }
    }

    /// Deletes some repeated computations: single ones, or all in a window.
    void forgetRepeats(std::vector<OpId>& sequence)
    {
        const bool isWindow = below(2) == 0;
        const std::size_t width = 2 + below(std::max<std::size_t>(3, sequence.size() / 4));
        const std::size_t from = below(sequence.size());
        const double share = isWindow ? 0.8 : std::min(0.5, 3.0 / (1.0 + static_cast<double>(repeats(sequence))));
        std::vector<bool> hasRun(m_graph.size(), false);
        std::vector<OpId> result;
        for (std::size_t at = 0; at < sequence.size(); ++at) {
            const bool isInside = !isWindow || (at >= from && at < from + width);
            const bool goes = hasRun[sequence[at]] && isInside && unit() < share;
            hasRun[sequence[at]] = true;
            if (!goes) {
                result.push_back(sequence[at]);
            }
        }
        sequence = std::move(result);
    }

    [[nodiscard]] std::size_t repeats(const std::vector<OpId>& sequence) const
    {
        return sequence.size() - std::min(sequence.size(), m_graph.size());
    }

    /// Moves one operator that runs once to another place between its operands' producers and its readers.
    void moveGradient(std::vector<OpId>& sequence)
    {
        const std::size_t at = below(sequence.size());
        const OpId op = sequence[at];
        if (std::count(sequence.begin(), sequence.end(), op) != 1) {
            return;
        }
        const auto [low, high] = slackOf(sequence, at);
        if (low >= high) {
            return;
        }
        const std::size_t to = low + below(high - low + 1);
        const auto place = [&](std::size_t i) { return sequence.begin() + static_cast<std::ptrdiff_t>(i); };
        if (at < to) {
            std::rotate(place(at), place(at + 1), place(to + 1));
        } else {
            std::rotate(place(to), place(at), place(at + 1));
        }
    }

    /// Places an operator could move to: behind the last run of a producer before it, before the first reader.
    [[nodiscard]] std::pair<std::size_t, std::size_t> slackOf(const std::vector<OpId>& sequence, std::size_t at) const
    {
        const OpId op = sequence[at];
        std::size_t low = at;
        const auto makesOperand = [&](OpId other) {
            return std::ranges::any_of(m_graph.reads(op),
                                       [&](OpValueId input) { return m_graph.value(input).producer == other; });
        };
        while (low > 0 && !makesOperand(sequence[low - 1])) {
            --low;
        }
        std::size_t high = at;
        const auto readsResult = [&](OpId other) {
            return std::ranges::any_of(m_graph.reads(other),
                                       [&](OpValueId input) { return m_graph.value(input).producer == op; });
        };
        while (high + 1 < sequence.size() && !readsResult(sequence[high + 1])) {
            ++high;
        }
        return {low, high};
    }

    const OpGraph& m_graph;
    const PlanRequest& m_request;
    Deadline m_deadline;
    std::uint64_t m_mostWork;
    std::uint64_t m_work = 0;
    std::mt19937_64 m_random;
    std::vector<OpId> m_now;
    std::vector<OpId> m_best;
    Score m_nowScore;
    Score m_bestScore;
};

base::Result<Draft> annealDraft(const PlanRequest& request)
{
    PlanRequest first = request;
    first.seconds = request.seconds / 2;
    RETRO_TRY(Draft start, kShave.draft(first));
    PlanRequest rest = request;
    rest.seconds = request.seconds / 2;
    start.sequence = annealed(rest, std::move(start.sequence), 0, annealWorkAlone(request.seconds));
    return start;
}

} // namespace

std::uint64_t annealWork(double seconds) { return static_cast<std::uint64_t>(kWorkPerSecond * std::max(0.0, seconds)); }

std::uint64_t annealWorkAlone(double seconds) { return annealWork(seconds / 2); }

std::vector<OpId> annealed(const PlanRequest& request, std::vector<OpId> start, double lowerBound, std::uint64_t work)
{
    return Annealer(request, std::move(start), work).run(lowerBound);
}

const Planner kAnneal{"anneal", "annealing",
                      "forgets some rebuilding, moves single gradients, shaves again; worse ones by chance",
                      &annealDraft, false};

} // namespace retro::schedule
