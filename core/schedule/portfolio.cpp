// SPDX-License-Identifier: Apache-2.0
#include "core/schedule/portfolio.h"

#include "core/analysis/bounds.h"
#include "core/analysis/orders.h"
#include "core/schedule/lifetimes.h"
#include "core/schedule/milp/checkmatemodel.h"
#include "core/schedule/planners/anneal.h"
#include "core/schedule/planners/plannerlist.h"
#include "core/schedule/planners/shaver.h"
#include "core/schedule/searchnotes.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

namespace retro::schedule
{

namespace
{

using base::Result;
using Clock = std::chrono::steady_clock;

/// Joint graphs beyond this size get only the planners that are near linear.
constexpr std::size_t kLarge = 20000;

/// Plans of other planners that are shaved further: those that fit by cost, those that do not by peak.
constexpr std::size_t kMostPolishedFits = 4;
constexpr std::size_t kMostPolishedOthers = 3;
/// Longer sequences, in operators of the graph, are not worth it.
constexpr std::size_t kMostPolishedLength = 4;
constexpr std::string_view kPolished = ", shaved";
/// Share of the time after which annealing makes way for the integer programme.
constexpr double kAnnealShare = 0.35;
/// Seconds that a solver of integer programmes may be late, and the most of them in shares of the time: at the root it
/// asks nobody.
constexpr double kSolverGrace = 1;
constexpr double kMostSolverGrace = 0.25;

/// A sequence that a planner proposed, as the simulator judged it.
struct Proposal
{
    std::string planner;
    Annotations annotations;
    std::vector<OpId> sequence;
    std::uint64_t peak = 0;
    double cost = 0;
    bool fits = false;
};

/// Those worth shaving: the cheapest that fit, then those of the least peak.
std::vector<Proposal> worthPolishing(std::vector<Proposal> proposals)
{
    std::stable_sort(proposals.begin(), proposals.end(), [](const Proposal& a, const Proposal& b) {
        if (a.fits != b.fits) {
            return a.fits;
        }
        return a.fits ? a.cost < b.cost : a.peak < b.peak;
    });
    const auto others = std::ranges::find_if(proposals, [](const Proposal& one) { return !one.fits; });
    const auto fitting = static_cast<std::size_t>(others - proposals.begin());
    std::vector<Proposal> chosen;
    for (std::size_t i = 0; i < proposals.size(); ++i) {
        const bool isWanted = i < fitting ? i < kMostPolishedFits : i - fitting < kMostPolishedOthers;
        if (isWanted) {
            chosen.push_back(std::move(proposals[i]));
        }
    }
    return chosen;
}

/// Costs are sums of doubles; what is closer than this is equal.
bool isSameCost(double a, double b)
{
    return std::abs(a - b) <= 1e-9 * std::max(1.0, std::max(std::abs(a), std::abs(b)));
}

class Portfolio
{
public:
    explicit Portfolio(const PlanRequest& request) : m_graph(*request.graph), m_request(request), m_start(request.now())
    {
        // Gradients that wait can be moved: then only what one operator needs at once is a floor.
        const analysis::Bound floor =
            request.tier ? analysis::largestOperator(m_graph, false) : analysis::memoryFloor(m_graph);
        m_result.budget = request.budget;
        m_result.floor = floor.bytes;
        m_result.floorAt = m_graph.op(floor.at).name;
        m_result.basePeak = peakOf(m_graph, storeAllSequence(m_graph));
        m_result.baseCost = analysis::costOfAll(m_graph);
        m_result.lowerBound = m_result.baseCost;
    }

    Result<PlanResult> run(std::string_view strategy)
    {
        if (isHopeless()) {
            return finish();
        }
        const Planner* const single = findPlanner(strategy);
        if (single != nullptr) {
            RETRO_CHECK(attempt(*single, m_request));
        } else {
            RETRO_CHECK(runAll());
            RETRO_CHECK(tryTier());
        }
        if (strategy == "best") {
            improve();
            RETRO_CHECK(tryIntegerProgramme());
            annealBest(m_request.seconds - solverGrace()); // where that was quicker
        }
        judge();
        return finish();
    }

private:
    /// Bounds that need no search.
    bool isHopeless()
    {
        if (m_request.budget < m_result.floor) {
            m_result.status = PlanStatus::Infeasible;
            m_result.reason =
                fmt::format("{} needs {} bytes at once, whatever the plan", m_result.floorAt, m_result.floor);
            return true;
        }
        if (m_request.tier) {
            return false; // what the bounds below say must be computed again can be moved
        }
        const std::optional<double> bound = analysis::costBound(m_graph, m_request.budget);
        if (!bound) {
            m_result.status = PlanStatus::Infeasible;
            m_result.reason = "what may run only once does not fit beside what some gradient needs";
            return true;
        }
        m_result.lowerBound = *bound;
        return false;
    }

    [[nodiscard]] bool isProven() const
    {
        return m_isExact || (m_best && isSameCost(m_result.cost, m_result.lowerBound));
    }

    Result<void> runAll()
    {
        for (const Planner& planner : planners()) {
            const bool isLeftOut = !planner.isFast || (m_graph.size() > kLarge && isSlowOnLarge(planner));
            if (isLeftOut || isProven() || m_isProvenInfeasible) {
                continue;
            }
            if (m_best && isLate()) {
                passOver(planner);
            } else {
                RETRO_CHECK(attempt(planner, withRest(m_request)));
            }
        }
        if (!isProven() && !m_isProvenInfeasible) {
            RETRO_CHECK(tryOtherOrders());
            RETRO_CHECK(polish());
        }
        return {};
    }

    [[nodiscard]] double secondsSince(Clock::time_point start) const
    {
        return std::chrono::duration<double>(m_request.now() - start).count();
    }

    [[nodiscard]] bool isLate() const { return secondsSince(m_start) >= m_request.seconds; }

    void passOver(const Planner& planner)
    {
        Attempt attempt;
        attempt.planner = planner.name;
        attempt.refusal = "no time was left for it";
        m_result.attempts.push_back(std::move(attempt));
    }

    /// What other planners proposed, shaved where it does not fit, and without what turns out needless then.
    Result<void> polish()
    {
        for (Proposal& proposal : worthPolishing(std::exchange(m_proposals, {}))) {
            if (isProven() || secondsSince(m_start) > 0.5 * m_request.seconds) {
                break;
            }
            RETRO_CHECK(checkStop());
            polish(std::move(proposal));
        }
        return {};
    }

    void polish(Proposal proposal)
    {
        const Clock::time_point start = m_request.now();
        const PlanRequest request = withRest(m_request);
        const Deadline deadline(request);
        ShaveOptions options;
        options.isOver = [&] { return deadline.isOver(); };
        options.listener = request.listener;
        Attempt attempt;
        attempt.planner = proposal.planner + std::string(kPolished);
        if (request.listener != nullptr) {
            request.listener->onPlanner(attempt.planner);
        }
        Draft draft;
        draft.sequence = std::move(proposal.sequence);
        draft.annotations.blocks = std::move(proposal.annotations.blocks);
        draft.annotations.intervals = std::move(proposal.annotations.intervals);
        if (shave(m_graph, request.budget, draft.sequence, options)) {
            prune(m_graph, request.budget, draft.sequence, options.isOver);
        }
        attempt.seconds = secondsSince(start);
        take(std::move(draft), attempt, "shave");
        m_result.attempts.push_back(std::move(attempt));
    }

    Result<void> tryTier()
    {
        return m_request.tier && !isProven() ? attempt(kOffload, withRest(m_request)) : Result<void>();
    }

    static bool isSlowOnLarge(const Planner& planner)
    {
        return planner.name == "min_cut" || planner.name == "torch_memory_budget" || planner.name == "dtr_online" ||
               planner.name == "interval" || planner.name == "knapsack";
    }

    /// The same request with half of the time that is left, so that some is left for others; as long as nothing fits at
    /// least a tenth of all.
    [[nodiscard]] PlanRequest withRest(PlanRequest request) const
    {
        const double rest = 0.5 * (m_request.seconds - secondsSince(m_start));
        request.seconds = std::max(m_best ? 0.0 : 0.1 * m_request.seconds, rest);
        return request;
    }

    [[nodiscard]] Result<void> checkStop() const
    {
        return m_request.stop.stop_requested() ? Result<void>(base::Error{base::ErrorCode::Cancelled, "stopped", {}})
                                               : Result<void>();
    }

    /// Orders of the joint graph that need less memory before anything is computed twice.
    Result<void> tryOtherOrders()
    {
        for (const analysis::OrderHeuristic heuristic :
             {analysis::OrderHeuristic::FitsUnderPeak, analysis::OrderHeuristic::DepthFirst,
              analysis::OrderHeuristic::LeastLive}) {
            const bool isLate = secondsSince(m_start) > 0.5 * m_request.seconds;
            std::optional<analysis::ScoredOrder> order = analysis::orderBy(m_graph, heuristic, m_request.stop);
            if (!order || isLate || order->peak >= m_result.basePeak || isProven()) {
                continue;
            }
            PlanRequest request = withRest(m_request);
            request.order = std::move(order->order);
            m_orderName = analysis::nameOf(heuristic);
            for (const char* name : {"store_all", "dtr", "shave"}) {
                RETRO_CHECK(attempt(*findPlanner(name), request));
            }
        }
        m_orderName = {};
        return {};
    }

    Result<void> attempt(const Planner& planner, const PlanRequest& request)
    {
        RETRO_CHECK(checkStop());
        const Clock::time_point start = m_request.now();
        if (request.listener != nullptr) {
            request.listener->onPlanner(planner.name);
        }
        Result<Draft> draft = planner.draft(request);
        Attempt attempt;
        attempt.planner =
            m_orderName.empty() ? std::string(planner.name) : fmt::format("{}, order {}", planner.name, m_orderName);
        attempt.seconds = secondsSince(start);
        if (draft.ok()) {
            take(std::move(*draft), attempt, planner.name);
        } else if (draft.error().code == base::ErrorCode::Engine) {
            attempt.refusal = draft.error().text();
            const bool isProof = !m_request.tier && attempt.refusal.starts_with("proof"); // without moves, that is
            m_isProvenInfeasible = m_isProvenInfeasible || isProof;
            tellRefused(attempt.planner);
        } else {
            return std::move(draft).error();
        }
        m_result.attempts.push_back(std::move(attempt));
        return {};
    }

    /// Lets the simulator judge a draft without computations that nobody reads; keeps it when it is the cheapest that
    /// fits.
    void take(Draft draft, Attempt& attempt, std::string_view planner)
    {
        if (draft.steps.empty()) {
            dropUseless(m_graph, draft.sequence);
        }
        if (m_request.listener == nullptr) {
            judgeDraft(std::move(draft), attempt);
            return;
        }
        const bool toldItself = planner == "shave" || planner == "dtr" || planner == "dtr_online";
        reportDraft(m_request, draft, reasonOf(planner), !toldItself);
        const std::vector<OpId> sequence = draft.sequence;
        const bool isBest = judgeDraft(std::move(draft), attempt);
        if (attempt.refusal.empty()) {
            reportCandidate(m_request, attempt.planner, sequence, attempt.cost, isBest);
        } else {
            tellRefused(attempt.planner);
        }
    }

    void tellRefused(const std::string& planner) const
    {
        if (m_request.listener != nullptr) {
            m_request.listener->onCandidate({planner, 0, 0, 0, false, false, true});
        }
    }

    /// True when it is the best so far.
    bool judgeDraft(Draft draft, Attempt& attempt)
    {
        if (draft.sequence.empty()) {
            attempt.refusal = "more than eight million computations";
            return false;
        }
        Plan plan = planned(draft);
        const Simulation simulation = simulate(m_graph, plan, {std::nullopt, m_request.secondsPerCost, false});
        attempt.peak = simulation.peak;
        attempt.cost = costOf(simulation);
        if (!simulation.ok()) {
            attempt.refusal = simulation.error->text;
            return false;
        }
        m_result.peak =
            !m_best && (m_result.peak == 0 || simulation.peak < m_result.peak) ? simulation.peak : m_result.peak;
        attempt.fits = simulation.peak <= m_request.budget;
        remember(draft, attempt);
        if (!attempt.fits) {
            return false;
        }
        const bool isExact = draft.isOptimal && !m_request.tier;
        m_isExact = m_isExact || isExact;
        attempt.isOptimalInOrder = draft.isOptimalInOrder;
        if (m_best && attempt.cost >= m_result.cost && !isExact) {
            return false;
        }
        plan.budget = m_request.budget;
        plan.annotations = std::move(draft.annotations);
        plan.annotations.planner = attempt.planner;
        plan.annotations.order = m_orderName;
        m_best = std::move(plan);
        m_result.planner = attempt.planner;
        m_result.peak = simulation.peak;
        m_result.cost = attempt.cost;
        m_result.movedBytes = simulation.movedBytes;
        return true;
    }

    /// Keeps a sequence that could be shaved further, and that of `shave` for annealing.
    void remember(const Draft& draft, const Attempt& attempt)
    {
        if (attempt.planner == "shave") {
            m_shaved = draft.sequence;
        } else if (!attempt.planner.starts_with("shave") && draft.steps.empty() &&
                   draft.sequence.size() <= kMostPolishedLength * m_graph.size() &&
                   !attempt.planner.ends_with(kPolished)) {
            m_proposals.push_back(
                {attempt.planner, draft.annotations, draft.sequence, attempt.peak, attempt.cost, attempt.fits});
        }
    }

    [[nodiscard]] Plan planned(const Draft& draft) const
    {
        Plan plan = planOf(m_graph, draft.sequence);
        if (!draft.steps.empty()) {
            plan.steps = draft.steps;
            plan.tiers = draft.tiers;
            plan.budget = m_request.budget; // whoever needs room waits for copies to end
        }
        return plan;
    }

    [[nodiscard]] double costOf(const Simulation& simulation) const
    {
        return simulation.movedBytes > 0 ? std::max(simulation.cost, simulation.seconds / m_request.secondsPerCost)
                                         : simulation.cost;
    }

    [[nodiscard]] double solverGrace() const { return std::min(kSolverGrace, kMostSolverGrace * m_request.seconds); }

    /// True when the integer programme takes the graph.
    [[nodiscard]] bool hasIntegerProgramme() const
    {
        return m_graph.size() <= kMostCheckmateOps && milpBackend() != nullptr && !m_isProvenInfeasible;
    }

    /// The integer programme, with the time that is left, where the graph is small enough for it.
    Result<void> tryIntegerProgramme()
    {
        PlanRequest request = m_request;
        request.seconds = m_request.seconds - secondsSince(m_start) - solverGrace();
        const std::vector<OpId> known = m_best && m_result.movedBytes == 0 ? sequenceOf(*m_best) : std::vector<OpId>();
        request.known = known.empty() ? nullptr : &known;
        const bool isWanted = hasIntegerProgramme() && !isProven() && request.seconds > 0;
        return isWanted ? attempt(kCheckmate, request) : Result<void>();
    }

    /// Anneals: first from the plan of `shave`, as far as the planner `anneal` alone would get in half of the time, so
    /// that the result is never dearer than its; then from the best. Most of the time is left for the integer programme
    /// where there is one.
    void improve()
    {
        const double end = (hasIntegerProgramme() ? kAnnealShare : 1) * m_request.seconds;
        if (!m_shaved.empty()) {
            anneal("anneal", m_shaved, annealWorkAlone(m_request.seconds / 2), end);
        }
        annealBest(end);
    }

    /// Until `end` seconds after the start.
    void annealBest(double end)
    {
        if (m_best) {
            anneal("anneal, from the best", sequenceOf(*m_best), annealWork(end - secondsSince(m_start)), end);
        }
    }

    void anneal(std::string name, std::vector<OpId> start, std::uint64_t work, double end)
    {
        PlanRequest request = m_request;
        request.seconds = end - secondsSince(m_start);
        if (!m_best || isProven() || request.seconds <= 0 || m_result.movedBytes > 0) {
            return; // what is moved is no matter of the sequence
        }
        const Clock::time_point began = m_request.now();
        Draft draft;
        draft.annotations = m_best->annotations;
        if (request.listener != nullptr) {
            request.listener->onPlanner("anneal");
        }
        draft.sequence = annealed(request, std::move(start), m_result.lowerBound, work);
        Attempt attempt;
        attempt.planner = std::move(name);
        attempt.seconds = secondsSince(began);
        take(std::move(draft), attempt, "anneal");
        m_result.attempts.push_back(std::move(attempt));
    }

    [[nodiscard]] std::string whyGood() const
    {
        return m_isExact        ? "exact search over all orders"
               : isProven()     ? "no plan costs less than the lower bound"
               : m_request.tier ? "the lower bound is every operator once, nothing waiting for a copy"
                                : "the lower bound is what must be computed again behind some gradient, relaxed";
    }

    void judge()
    {
        if (m_isExact) {
            m_result.lowerBound = m_result.cost;
        }
        if (m_best) {
            m_result.status = isProven() ? PlanStatus::Optimal : PlanStatus::Feasible;
            m_result.reason = whyGood();
        } else if (m_isProvenInfeasible) {
            m_result.status = PlanStatus::Infeasible;
            m_result.reason = "exact search over all orders";
        } else {
            m_result.status = PlanStatus::InfeasibleInThisOrder;
            m_result.reason = fmt::format("{} plans were tried; none fits, and nothing proves that none could",
                                          m_result.attempts.size());
        }
    }

    PlanResult finish()
    {
        m_result.plan = std::move(m_best);
        m_result.seconds = secondsSince(m_start);
        return std::move(m_result);
    }

    const OpGraph& m_graph;
    const PlanRequest& m_request;
    Clock::time_point m_start;
    PlanResult m_result;
    std::optional<Plan> m_best;
    std::vector<Proposal> m_proposals;
    std::vector<OpId> m_shaved; ///< the plan of `shave`
    std::string m_orderName;
    bool m_isExact = false;
    bool m_isProvenInfeasible = false;
};

} // namespace

std::string_view nameOf(PlanStatus status)
{
    switch (status) {
    case PlanStatus::Optimal:
        return "optimal";
    case PlanStatus::Feasible:
        return "feasible";
    case PlanStatus::Infeasible:
        return "infeasible";
    case PlanStatus::InfeasibleInThisOrder:
        return "infeasible_in_this_order";
    }
    return "";
}

Result<PlanResult> planWith(std::string_view strategy, const PlanRequest& request)
{
    if (findPlanner(strategy) == nullptr && strategy != "fast" && strategy != "best") {
        return base::usageError("there is no such strategy; `plan --strategy list` names them", std::string(strategy));
    }
    return Portfolio(request).run(strategy);
}

} // namespace retro::schedule
