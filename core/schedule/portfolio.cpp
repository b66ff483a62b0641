// SPDX-License-Identifier: Apache-2.0
#include "core/schedule/portfolio.h"

#include "core/analysis/bounds.h"
#include "core/analysis/orders.h"
#include "core/schedule/lifetimes.h"
#include "core/schedule/milp/checkmatemodel.h"
#include "core/schedule/planners/anneal.h"
#include "core/schedule/planners/plannerlist.h"
#include "core/schedule/searchnotes.h"

#include <fmt/format.h>

#include <algorithm>

namespace retro::schedule
{

namespace
{

using base::Result;
using Clock = std::chrono::steady_clock;

/// Joint graphs beyond this size get only the planners that are near linear.
constexpr std::size_t kLarge = 20000;

double secondsSince(Clock::time_point start) { return std::chrono::duration<double>(Clock::now() - start).count(); }

/// Costs are sums of doubles; what is closer than this is equal.
bool isSameCost(double a, double b)
{
    return std::abs(a - b) <= 1e-9 * std::max(1.0, std::max(std::abs(a), std::abs(b)));
}

class Portfolio
{
public:
    explicit Portfolio(const PlanRequest& request) : m_graph(*request.graph), m_request(request), m_start(Clock::now())
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
            improve(); // first: what solves integer programmes may run over its time
            RETRO_CHECK(tryIntegerProgramme());
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
            RETRO_CHECK(attempt(planner, withRest(m_request)));
        }
        return isProven() || m_isProvenInfeasible ? Result<void>() : tryOtherOrders();
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

    /// The same request with the time that is left, at least a tenth of it.
    [[nodiscard]] PlanRequest withRest(PlanRequest request) const
    {
        request.seconds = std::max(0.1 * m_request.seconds, m_request.seconds - secondsSince(m_start));
        return request;
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
        RETRO_CHECK(m_request.stop.stop_requested()
                        ? Result<void>(base::Error{base::ErrorCode::Cancelled, "stopped", {}})
                        : Result<void>());
        const Clock::time_point start = Clock::now();
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

    /// Lets the simulator judge a draft; keeps it when it is the cheapest that fits.
    void take(Draft draft, Attempt& attempt, std::string_view planner)
    {
        if (m_request.listener == nullptr) {
            judgeDraft(std::move(draft), attempt);
            return;
        }
        const bool toldItself = planner == "shave" || planner == "dtr" || planner == "dtr_online";
        tellDraft(m_request, draft, reasonOf(planner), !toldItself);
        const std::vector<OpId> sequence = draft.sequence;
        const bool isBest = judgeDraft(std::move(draft), attempt);
        if (attempt.refusal.empty()) {
            tellCandidate(m_request, attempt.planner, sequence, attempt.cost, isBest);
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

    /// True when the integer programme takes the graph.
    [[nodiscard]] bool hasIntegerProgramme() const
    {
        return m_graph.size() <= kMostCheckmateOps && milpBackend() != nullptr && !m_isProvenInfeasible;
    }

    /// The integer programme, with the time that is left, where the graph is small enough for it.
    Result<void> tryIntegerProgramme()
    {
        PlanRequest request = m_request;
        request.seconds = m_request.seconds - secondsSince(m_start);
        const bool isWanted = hasIntegerProgramme() && !isProven() && request.seconds > 0;
        return isWanted ? attempt(kCheckmate, request) : Result<void>();
    }

    void improve()
    {
        const double rest = m_request.seconds - secondsSince(m_start);
        if (!m_best || isProven() || rest <= 0 || m_result.movedBytes > 0) {
            return; // what is moved is no matter of the sequence
        }
        PlanRequest request = m_request;
        request.seconds = hasIntegerProgramme() ? rest / 2 : rest;
        const Clock::time_point start = Clock::now();
        Draft draft;
        draft.annotations = m_best->annotations;
        if (request.listener != nullptr) {
            request.listener->onPlanner("anneal");
        }
        draft.sequence = annealed(request, sequenceOf(*m_best), m_result.lowerBound);
        Attempt attempt;
        attempt.planner = "anneal";
        attempt.seconds = secondsSince(start);
        take(std::move(draft), attempt, "anneal");
        m_result.attempts.push_back(std::move(attempt));
    }

    [[nodiscard]] std::string whyGood() const
    {
        return m_isExact        ? "exact search over all orders"
               : isProven()     ? "no plan costs less than the lower bound"
               : m_request.tier ? "the lower bound is every operator once, nothing waiting for a copy"
                                : "the lower bound is a knapsack at each gradient, relaxed";
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
