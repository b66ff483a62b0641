// SPDX-License-Identifier: Apache-2.0
#include "core/schedule/planners/exactsearch.h"
#include "core/schedule/planners/plannerlist.h"

#include <algorithm>
#include <bit>
#include <queue>
#include <unordered_map>

namespace retro::schedule
{

namespace
{

using Set = std::uint32_t;
using analysis::Phase;

/// What is in memory, and which operators have run.
struct State
{
    Set live = 0;
    Set done = 0;
    [[nodiscard]] std::uint64_t key() const { return (static_cast<std::uint64_t>(done) << 32U) | live; }
};

struct Reached
{
    double cost = 0;
    std::uint64_t from = 0;
    OpId op = kNone; ///< computed on the way from `from`; kNone where a value was dropped
    bool isClosed = false;
};

class Search
{
public:
    Search(const OpGraph& joint, std::uint64_t budget, FixedOrder fixed)
        : m_joint(joint), m_budget(budget), m_fixed(fixed), m_inputs(joint.size(), 0), m_pinnedInputs(joint.size(), 0),
          m_readers(joint.size(), 0), m_bytes(joint.size(), 0)
    {
        for (OpId op = 0; op < joint.size(); ++op) {
            indexInputs(op);
            m_bytes[op] = joint.outputBytes(op, false);
            m_gradients |= joint.op(op).phase == Phase::Gradient ? bit(op) : 0;
            const auto isRequired = [&](OpValueId id) {
                return joint.value(id).isRequired && !joint.value(id).isPinned;
            };
            m_required |= std::ranges::any_of(joint.op(op).outputs, isRequired) ? bit(op) : 0;
        }
    }

    ExactPlan run(const std::stop_token& stop)
    {
        push({}, {0, 0, kNone, false});
        while (!m_queue.empty()) {
            const std::uint64_t key = m_queue.top().second;
            m_queue.pop();
            Reached& here = m_reached[key];
            if (here.isClosed) {
                continue;
            }
            here.isClosed = true;
            const State state{static_cast<Set>(key), static_cast<Set>(key >> 32U)};
            if (state.done == all() && (m_required & ~state.live) == 0) {
                return {ExactStatus::Found, wayTo(key), here.cost};
            }
            if (m_reached.size() > kMaxExactStates || stop.stop_requested()) {
                return {};
            }
            expand(state, here.cost, key);
        }
        return {ExactStatus::Infeasible, {}, 0};
    }

private:
    void indexInputs(OpId op)
    {
        for (const OpValueId input : m_joint.reads(op)) {
            const OpId producer = m_joint.value(input).producer;
            if (producer == kNone) {
                continue;
            }
            if (m_joint.value(input).isPinned) {
                m_pinnedInputs[op] |= bit(producer);
            } else {
                m_inputs[op] |= bit(producer);
                m_readers[producer] |= bit(op);
            }
        }
    }

    [[nodiscard]] static Set bit(OpId op) { return Set{1} << op; }
    [[nodiscard]] Set all() const
    {
        return m_joint.size() == 32 ? ~Set{0} : bit(static_cast<OpId>(m_joint.size())) - 1;
    }

    [[nodiscard]] std::uint64_t bytesOf(Set live) const
    {
        std::uint64_t bytes = 0;
        for (Set rest = live; rest != 0; rest &= rest - 1) {
            bytes += m_bytes[static_cast<std::size_t>(std::countr_zero(rest))];
        }
        return bytes;
    }

    void push(const State& state, const Reached& reached)
    {
        const auto [at, isNew] = m_reached.try_emplace(state.key(), reached);
        if (!isNew && reached.cost >= at->second.cost) {
            return;
        }
        at->second = reached;
        m_queue.emplace(reached.cost, state.key());
    }

    /// The operators of lower id that run before this one runs first.
    [[nodiscard]] Set orderedLike(OpId op) const
    {
        if (m_fixed == FixedOrder::All) {
            return all();
        }
        return m_fixed == FixedOrder::Gradients && (m_gradients & bit(op)) != 0 ? m_gradients : Set{0};
    }

    [[nodiscard]] bool mayRun(const State& state, OpId op) const
    {
        const bool hasRun = (state.done & bit(op)) != 0;
        const bool hasOperands = (m_inputs[op] & ~state.live) == 0 && (m_pinnedInputs[op] & ~state.done) == 0;
        if ((state.live & bit(op)) != 0 || !hasOperands || (hasRun && !m_joint.op(op).mayRepeat())) {
            return false;
        }
        const Set ordered = orderedLike(op);
        return hasRun || (ordered & (bit(op) - 1) & ~state.done) == 0;
    }

    void expand(const State& state, double cost, std::uint64_t key)
    {
        const std::uint64_t live = bytesOf(state.live);
        for (OpId op = 0; op < m_joint.size(); ++op) {
            if (mayRun(state, op) && live + m_bytes[op] + m_joint.op(op).workspace <= m_budget) {
                // Results that nobody counts (pinned, or none) do not have to be dropped before the operator runs
                // again.
                const State next{
                    static_cast<Set>(m_bytes[op] > 0 || m_readers[op] != 0 ? state.live | bit(op) : state.live),
                    state.done | bit(op)};
                push(withoutUnread(next), {cost + m_joint.op(op).cost, key, op, false});
            }
        }
        for (Set rest = state.live & ~m_gradients & ~m_required; rest != 0; rest &= rest - 1) {
            const auto op = static_cast<OpId>(std::countr_zero(rest));
            push({state.live & ~bit(op), state.done}, {cost, key, kNone, false});
        }
    }

    /// Drops what no operator will read: gradients whose readers have all run.
    [[nodiscard]] State withoutUnread(State state) const
    {
        for (Set rest = state.live; rest != 0; rest &= rest - 1) {
            const auto op = static_cast<OpId>(std::countr_zero(rest));
            const bool isForGradients = (m_readers[op] & ~m_gradients) == 0;
            const bool isUnread = isForGradients && (m_readers[op] & ~state.done) == 0;
            state.live &= isUnread && (m_required & bit(op)) == 0 ? ~bit(op) : ~Set{0};
        }
        return state;
    }

    [[nodiscard]] std::vector<OpId> wayTo(std::uint64_t key) const
    {
        std::vector<OpId> way;
        while (key != 0) {
            const Reached& reached = m_reached.at(key);
            if (reached.op != kNone) {
                way.push_back(reached.op);
            }
            key = reached.from;
        }
        std::reverse(way.begin(), way.end());
        return way;
    }

    using Entry = std::pair<double, std::uint64_t>;

    const OpGraph& m_joint;
    std::uint64_t m_budget;
    FixedOrder m_fixed;
    std::vector<Set> m_inputs;
    std::vector<Set> m_pinnedInputs;
    std::vector<Set> m_readers;
    std::vector<std::uint64_t> m_bytes;
    Set m_gradients = 0;
    Set m_required = 0;
    std::unordered_map<std::uint64_t, Reached> m_reached;
    std::priority_queue<Entry, std::vector<Entry>, std::greater<>> m_queue;
};

bool isSearchable(const OpGraph& joint)
{
    return joint.size() <= kMaxExactJointOps &&
           std::ranges::all_of(joint.ops(), [](const analysis::Op& op) { return op.outputs.size() <= 1; });
}

base::Result<Draft> exactDraft(const PlanRequest& request)
{
    ExactPlan exact = exactPlan(*request.graph, request.budget, FixedOrder::None, request.stop);
    if (exact.status == ExactStatus::TooLarge) {
        return base::engineError("only joint graphs of few operators with one result each are searched exactly");
    }
    if (exact.status == ExactStatus::Infeasible) {
        return base::engineError("proof by search: no plan fits the budget");
    }
    Draft draft;
    draft.sequence = std::move(exact.sequence);
    draft.isOptimal = true;
    return draft;
}

} // namespace

ExactPlan exactPlan(const OpGraph& joint, std::uint64_t budget, FixedOrder fixed, const std::stop_token& stop)
{
    return isSearchable(joint) ? Search(joint, budget, fixed).run(stop) : ExactPlan{};
}

const Planner kExact{"exact", "exact search", "the cheapest plan of all, for joint graphs of up to 20 operators",
                     &exactDraft};

} // namespace retro::schedule
