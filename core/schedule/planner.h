// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/schedule/plan.h"
#include "core/schedule/searchlistener.h"

#include <chrono>
#include <functional>
#include <span>
#include <stop_token>
#include <string_view>

namespace retro::schedule
{

/// What a user wants of single values; names in the order of the joint graph's values.
struct UserChoices
{
    std::vector<OpValueId> keep;      ///< stay from the forward sweep until their last reader
    std::vector<OpValueId> recompute; ///< are dropped after the forward sweep
};

/// How large the blocks of the forward operators shall be, for planners that cut into blocks. 0 = chosen by trying; at
/// most one of them is given.
struct BlockWish
{
    std::size_t count = 0;     ///< how many blocks
    std::size_t operators = 0; ///< of one block
    std::uint64_t bytes = 0;   ///< of the results of one block

    [[nodiscard]] bool isAuto() const { return count == 0 && operators == 0 && bytes == 0; }
};

/// Reads the time.
using ReadTime = std::function<std::chrono::steady_clock::time_point()>;

/// What a planner is asked. Lifetime of the graph: longer than the request.
struct PlanRequest
{
    const OpGraph* graph = nullptr; ///< a joint graph
    std::uint64_t budget = 0;       ///< bytes
    /// The order of the first computations, topological and complete; empty = by id.
    std::vector<OpId> order;
    UserChoices choices;
    BlockWish blocks;
    std::optional<Tier> tier;  ///< where values may be moved to; none = nothing moves
    double secondsPerCost = 1; ///< of the graph's cost unit, for computations beside copies
    double seconds = 5;        ///< by the clock; a planner that runs out of it ends with what it has
    std::uint64_t seed = 1;
    std::stop_token stop;
    SearchListener* listener = nullptr; ///< hears the search; borrowed, may be null
    /// A sequence within the budget that is known already: a search may start there; borrowed, may be null.
    const std::vector<OpId>* known = nullptr;
    ReadTime readTime; ///< the clock; empty = the steady clock of the machine

    [[nodiscard]] std::chrono::steady_clock::time_point now() const
    {
        return readTime ? readTime() : std::chrono::steady_clock::now();
    }

    [[nodiscard]] std::vector<OpId> baseSequence() const { return order.empty() ? storeAllSequence(*graph) : order; }
};

/// What a planner proposes: computations in order, moves where there are any, and why. Whether it fits is for the
/// simulator to say.
struct Draft
{
    std::vector<OpId> sequence;
    Annotations annotations;
    bool isOptimal = false; ///< proven: no plan within the budget costs less
    /// Proven: no plan within the budget that has its first computations in this order, and every operator at most once
    /// between two of them, costs less.
    bool isOptimalInOrder = false;
    /// With moves: the steps in place of those that planOf() makes of the sequence, and the tiers that they name.
    std::vector<Step> steps;
    std::vector<Tier> tiers;
};

/// One way to make a plan. A draft is always a complete and valid sequence; it may need more than the budget, when the
/// planner found nothing better. Errors: Engine (nothing can be proposed, with the reason; "proof" in the message only
/// where it is one), Input (contradicting choices), Usage, Cancelled.
struct Planner
{
    std::string_view name;
    std::string_view title; ///< for people, in a few words: "peak shaving"
    std::string_view description;
    base::Result<Draft> (*draft)(const PlanRequest&) = nullptr;
    bool isFast = true; ///< part of strategy `fast`
};

/// All planners, in the order in which a portfolio runs them.
[[nodiscard]] std::span<const Planner> planners();
/// The planner of that name; nullptr when there is none.
[[nodiscard]] const Planner* findPlanner(std::string_view name);

/// Ends loops that could go on: a time limit and a stop token.
class Deadline
{
public:
    /// The request outlives it.
    explicit Deadline(const PlanRequest& request)
        : m_request(&request), m_end(request.now() + std::chrono::duration_cast<std::chrono::steady_clock::duration>(
                                                         std::chrono::duration<double>(request.seconds)))
    {}

    [[nodiscard]] bool isOver() const { return m_request->stop.stop_requested() || m_request->now() >= m_end; }
    /// Seconds that are left; 0 when it is over.
    [[nodiscard]] double secondsLeft() const
    {
        return isOver() ? 0 : std::chrono::duration<double>(m_end - m_request->now()).count();
    }

private:
    const PlanRequest* m_request;
    std::chrono::steady_clock::time_point m_end;
};

} // namespace retro::schedule
