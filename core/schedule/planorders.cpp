// SPDX-License-Identifier: Apache-2.0
#include "core/schedule/planorders.h"

#include "core/analysis/orders.h"
#include "core/analysis/report.h"
#include "core/schedule/lifetimes.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <future>
#include <span>

namespace retro::schedule
{

namespace
{

using base::Result;

/// Orders beside kahn that are planned for.
constexpr std::size_t kMostOrders = 3;
/// Share of the seconds after which `best` stops to compare orders and goes on with the best one.
constexpr double kCompareShare = 0.3;

std::string nameOfFirstReady() { return std::string(analysis::nameOf(analysis::OrderHeuristic::FirstReady)); }

/// The second half of a joint graph in reverse of the forward order.
std::vector<OpId> carriedOn(const analysis::JointGraph& joint, std::span<const OpId> order)
{
    std::size_t forwardOps = 0;
    for (const OpId origin : joint.origin) {
        forwardOps = std::max<std::size_t>(forwardOps, origin + 1);
    }
    std::vector<std::vector<OpId>> computed(std::max(forwardOps, order.size()));
    std::vector<std::vector<OpId>> reversed(computed.size());
    for (OpId op = 0; op < joint.graph.size(); ++op) {
        (op < joint.forwardCount ? computed : reversed)[joint.origin[op]].push_back(op);
    }
    std::vector<OpId> sequence;
    sequence.reserve(joint.graph.size());
    for (const OpId origin : order) {
        sequence.insert(sequence.end(), computed[origin].begin(), computed[origin].end());
    }
    for (auto origin = order.rbegin(); origin != order.rend(); ++origin) {
        sequence.insert(sequence.end(), reversed[*origin].begin(), reversed[*origin].end());
    }
    return sequence;
}

std::vector<CandidateOrder> capturedOrder(const analysis::JointGraph& joint)
{
    std::vector<OpId> sequence = storeAllSequence(joint.graph);
    const std::uint64_t peak = peakOf(joint.graph, sequence);
    return {{nameOfFirstReady(), std::move(sequence), peak, peak}};
}

/// Hears several searches as one: the best of all so far is the best.
class OneSearch final : public SearchListener
{
public:
    explicit OneSearch(SearchListener* to) : m_to(to) {}

    void onPlanner(std::string_view name) override { m_to->onPlanner(name); }
    void onSplit(const SplitNote& note) override { m_to->onSplit(note); }
    void onDrop(const DropNote& note) override { m_to->onDrop(note); }
    void onRebuild(const RebuildNote& note) override { m_to->onRebuild(note); }
    void onCandidate(const CandidateNote& note) override
    {
        CandidateNote told = note;
        told.isBest = note.isBest && (!m_best || note.cost < *m_best);
        m_best = told.isBest ? note.cost : m_best;
        m_to->onCandidate(told);
    }

private:
    SearchListener* m_to;
    std::optional<double> m_best;
};

/// True when `b` is to be preferred.
bool isBetter(const PlanResult& a, const PlanResult& b)
{
    if (a.plan.has_value() != b.plan.has_value()) {
        return b.plan.has_value();
    }
    return b.plan ? b.cost < a.cost : b.peak > 0 && (a.peak == 0 || b.peak < a.peak);
}

class OrderSearch
{
public:
    /// start: when the time of the request began.
    OrderSearch(std::string_view strategy, const PlanRequest& request, std::chrono::steady_clock::time_point start)
        : m_strategy(strategy), m_request(request), m_listener(request.listener), m_start(start)
    {}

    Result<PlanResult> overAll(const std::vector<CandidateOrder>& orders)
    {
        const bool goesOn = m_strategy == "best" && orders.size() > 1;
        const double end = (goesOn ? kCompareShare : 1.0) * m_request.seconds;
        const std::string_view each = goesOn ? "fast" : m_strategy;
        for (std::size_t i = 0; i < orders.size() && !isDecided(); ++i) {
            if (m_best && m_best->plan && passed() >= end) {
                passOver(orders[i]);
                continue;
            }
            const double share = std::max((end - passed()) / static_cast<double>(orders.size() - i), 0.0);
            if (i > 0 && each == "fast" && m_request.listener == nullptr && !m_request.readTime) {
                RETRO_CHECK(runTogether(std::span(orders).subspan(i), share));
                break;
            }
            RETRO_CHECK(runOn(orders[i], each, share));
        }
        if (goesOn && !isDecided()) {
            const auto winner = std::ranges::find(orders, m_best->order, &CandidateOrder::name);
            RETRO_CHECK(runOn(*winner, m_strategy, std::max(m_request.seconds - passed(), 0.0)));
        }
        PlanResult result = std::move(*m_best);
        result.attempts = std::move(m_attempts);
        result.seconds = passed();
        if (!result.plan && result.status == PlanStatus::InfeasibleInThisOrder) {
            result.reason = fmt::format("{} plans were tried in {} orders; none fits, and nothing proves that none "
                                        "could",
                                        result.attempts.size(), orders.size());
        }
        return result;
    }

private:
    [[nodiscard]] double passed() const { return std::chrono::duration<double>(m_request.now() - m_start).count(); }

    /// A proof is about all orders.
    [[nodiscard]] bool isDecided() const
    {
        return m_best && (m_best->status == PlanStatus::Optimal || m_best->status == PlanStatus::Infeasible);
    }

    void passOver(const CandidateOrder& order)
    {
        Attempt attempt;
        attempt.planner = m_strategy;
        attempt.order = order.name;
        attempt.refusal = "no time was left for it";
        m_attempts.push_back(std::move(attempt));
    }

    Result<void> runOn(const CandidateOrder& order, std::string_view strategy, double seconds)
    {
        return take(order, planIn(order, strategy, seconds));
    }

    [[nodiscard]] Result<PlanResult> planIn(const CandidateOrder& order, std::string_view strategy, double seconds)
    {
        PlanRequest request = m_request;
        request.order = order.sequence;
        request.seconds = seconds;
        request.listener = m_request.listener == nullptr ? nullptr : &m_listener;
        return planWith(strategy, request);
    }

    /// Plans in these orders beside each other; the results count one after the other, up to one that decides.
    Result<void> runTogether(std::span<const CandidateOrder> orders, double seconds)
    {
        std::vector<std::future<Result<PlanResult>>> others;
        for (const CandidateOrder& order : orders.subspan(1)) {
            others.push_back(
                std::async(std::launch::async, [this, &order, seconds] { return planIn(order, "fast", seconds); }));
        }
        RETRO_CHECK(take(orders.front(), planIn(orders.front(), "fast", seconds)));
        for (std::size_t i = 0; i < others.size(); ++i) {
            Result<PlanResult> result = others[i].get();
            if (!isDecided()) {
                RETRO_CHECK(take(orders[i + 1], std::move(result)));
            }
        }
        return {};
    }

    /// Keeps what was found in an order where it is the best so far.
    Result<void> take(const CandidateOrder& order, Result<PlanResult> found)
    {
        RETRO_TRY(PlanResult result, std::move(found));
        result.order = order.name;
        for (Attempt& attempt : result.attempts) {
            attempt.order = order.name;
            m_attempts.push_back(std::move(attempt));
        }
        if (result.plan) {
            result.plan->annotations.order = order.name;
        }
        if (!m_best || result.status == PlanStatus::Infeasible || isBetter(*m_best, result)) {
            m_best = std::move(result);
        }
        return {};
    }

    std::string_view m_strategy;
    const PlanRequest& m_request;
    OneSearch m_listener;
    std::chrono::steady_clock::time_point m_start;
    std::optional<PlanResult> m_best;
    std::vector<Attempt> m_attempts;
};

} // namespace

std::vector<CandidateOrder> candidateOrders(const OpGraph& forward, const analysis::JointGraph& joint,
                                            const std::stop_token& stop)
{
    if (analysis::hasGradients(forward)) {
        return capturedOrder(joint);
    }
    std::vector<CandidateOrder> orders;
    for (const analysis::OrderHeuristic heuristic : analysis::kOrderHeuristics) {
        const std::optional<analysis::ScoredOrder> order = analysis::orderBy(forward, heuristic, stop);
        if (!order) {
            continue;
        }
        std::vector<OpId> sequence = carriedOn(joint, order->order);
        const bool isKnown =
            std::ranges::any_of(orders, [&](const CandidateOrder& one) { return one.sequence == sequence; });
        if (!isKnown) {
            const std::uint64_t peak = peakOf(joint.graph, sequence);
            orders.push_back({std::string(analysis::nameOf(heuristic)), std::move(sequence), peak, order->peak});
        }
    }
    std::stable_sort(orders.begin(), orders.end(), [](const CandidateOrder& a, const CandidateOrder& b) {
        return a.storeAllPeak != b.storeAllPeak ? a.storeAllPeak < b.storeAllPeak : a.forwardPeak < b.forwardPeak;
    });
    return orders;
}

Result<PlanResult> planInOrders(std::string_view strategy, std::string_view order, const OpGraph& forward,
                                const analysis::JointGraph& joint, const PlanRequest& request)
{
    const auto start = request.now();
    std::vector<CandidateOrder> orders;
    if (order != kAutoOrder && !analysis::hasGradients(forward)) {
        RETRO_TRY(const std::vector<OpId> named, analysis::orderNamed(forward, order));
        orders.push_back({std::string(order), carriedOn(joint, named), 0, 0});
        return OrderSearch(strategy, request, start).overAll(orders);
    }
    orders = candidateOrders(forward, joint, request.stop);
    const std::string first = nameOfFirstReady();
    std::size_t rank = 0;
    std::erase_if(orders, [&](const CandidateOrder& one) { return rank++ >= kMostOrders && one.name != first; });
    if (orders.empty()) {
        return base::Error{base::ErrorCode::Cancelled, "stopped", {}};
    }
    return OrderSearch(strategy, request, start).overAll(orders);
}

} // namespace retro::schedule
