// SPDX-License-Identifier: Apache-2.0
#include "core/schedule/planners/plannerlist.h"

#include <fmt/format.h>

#include <algorithm>
#include <limits>

namespace retro::schedule
{

namespace
{

using analysis::OpValue;

/// Longest chain of operators that rebuild each other, and most computations in a plan, per operator of the graph.
constexpr int kMostDepth = 4000;
constexpr std::size_t kMostRepeats = 20;

/// Dynamic tensor rematerialisation (Kirisame et al. 2021): the program runs in order; what does not fit pushes out the
/// value with the least (cost of itself and of its evicted surroundings) / (bytes · time since its last use), which is
/// rebuilt when it is read. Surroundings are components of evicted operators whose costs add up and never split.
class Rematerialiser
{
public:
    /// `knowsReads`: a value that the rest of the program does not read is dropped for good.
    Rematerialiser(const PlanRequest& request, bool knowsReads)
        : m_graph(*request.graph), m_request(request), m_knowsReads(knowsReads),
          m_readsLeft(m_graph.values().size(), 0), m_locks(m_graph.values().size(), 0),
          m_lastUse(m_graph.values().size(), 0), m_state(m_graph.values().size(), State::Absent),
          m_component(m_graph.size()), m_componentCost(m_graph.size(), 0)
    {
        for (OpId op = 0; op < m_graph.size(); ++op) {
            m_component[op] = op;
            for (const OpValueId input : m_graph.reads(op)) {
                ++m_readsLeft[input];
            }
        }
        for (OpValueId id = 0; id < m_state.size(); ++id) {
            m_state[id] = m_graph.value(id).producer == kNone ? State::Resident : State::Absent;
        }
    }

    base::Result<Draft> run()
    {
        const Deadline deadline(m_request);
        for (const OpId op : m_request.baseSequence()) {
            if (m_request.stop.stop_requested()) {
                return base::Error{base::ErrorCode::Cancelled, "stopped", {}};
            }
            if (deadline.isOver()) {
                return base::engineError(fmt::format("its time was over before {}", m_graph.op(op).name));
            }
            if (!perform(op, 0)) {
                return base::engineError(fmt::format("{} does not fit beside what it needs", m_graph.op(op).name));
            }
            for (const OpValueId input : m_graph.reads(op)) {
                --m_readsLeft[input];
                releaseUnread(input);
            }
            for (const OpValueId output : m_graph.op(op).outputs) {
                releaseUnread(output);
            }
        }
        Draft draft;
        draft.sequence = std::move(m_sequence);
        return draft;
    }

private:
    enum class State : std::uint8_t { Absent, Resident, Evicted };

    bool perform(OpId op, int depth)
    {
        if (depth > kMostDepth || m_sequence.size() > kMostRepeats * m_graph.size() + 100) {
            return false;
        }
        const auto inputs = m_graph.reads(op);
        for (const OpValueId input : inputs) {
            ++m_locks[input];
        }
        bool isDone = true;
        for (const OpValueId input : inputs) {
            isDone = isDone && (m_state[input] == State::Resident || perform(m_graph.value(input).producer, depth + 1));
        }
        isDone = isDone && compute(op);
        for (const OpValueId input : inputs) {
            --m_locks[input];
            m_lastUse[input] = m_clock;
        }
        if (isDone && depth > 0) {
            tellRebuilt(op);
            dropUnneeded(op);
        }
        return isDone;
    }

    void tellRebuilt(OpId op) const
    {
        if (m_request.listener != nullptr) {
            m_request.listener->onRebuild({m_graph.op(op).outputs.front(), kNone, m_graph.op(op).cost});
        }
    }

    /// Operands that were rebuilt for `op` and that the program itself does not read any more.
    void dropUnneeded(OpId op)
    {
        for (const OpValueId input : m_graph.reads(op)) {
            releaseUnread(input);
        }
    }

    [[nodiscard]] std::uint64_t missingBytes(OpId op) const
    {
        std::uint64_t bytes = 0;
        for (const OpValueId output : m_graph.op(op).outputs) {
            bytes +=
                m_state[output] == State::Resident || m_graph.value(output).isPinned ? 0 : m_graph.value(output).bytes;
        }
        return bytes;
    }

    bool compute(OpId op)
    {
        const std::uint64_t made = missingBytes(op);
        while (m_live + made + m_graph.op(op).workspace > m_request.budget) {
            if (!evictOne()) {
                return false;
            }
        }
        m_clock += std::max(m_graph.op(op).cost, 1e-9);
        m_live += made;
        m_sequence.push_back(op);
        leaveComponent(op);
        for (const OpValueId output : m_graph.op(op).outputs) {
            if (m_state[output] != State::Resident) {
                m_state[output] = State::Resident;
                if (!m_graph.value(output).isPinned) {
                    m_resident.push_back(output);
                }
            }
            m_lastUse[output] = m_clock;
        }
        return true;
    }

    // --- memory

    void remove(std::size_t at)
    {
        m_live -= m_graph.value(m_resident[at]).bytes;
        m_resident[at] = m_resident.back();
        m_resident.pop_back();
    }

    void releaseUnread(OpValueId id)
    {
        const bool goes = m_knowsReads && m_readsLeft[id] == 0 && m_locks[id] == 0 && m_state[id] == State::Resident &&
                          !m_graph.value(id).isRequired;
        const auto at = goes ? std::find(m_resident.begin(), m_resident.end(), id) : m_resident.end();
        if (at != m_resident.end()) {
            m_state[id] = State::Evicted;
            remove(static_cast<std::size_t>(at - m_resident.begin()));
        }
    }

    [[nodiscard]] bool mayGo(OpValueId id) const
    {
        const OpValue& value = m_graph.value(id);
        const bool isGone = m_readsLeft[id] == 0 && !value.isRequired;
        return m_locks[id] == 0 && value.bytes > 0 && (m_graph.op(value.producer).mayRepeat() || isGone);
    }

    bool evictOne()
    {
        std::size_t best = m_resident.size();
        double least = std::numeric_limits<double>::infinity();
        for (std::size_t at = 0; at < m_resident.size(); ++at) {
            if (!mayGo(m_resident[at])) {
                continue;
            }
            const double score = scoreOf(m_resident[at]);
            if (best == m_resident.size() || score < least || (score == least && m_resident[at] < m_resident[best])) {
                best = at;
                least = score;
            }
        }
        if (best == m_resident.size()) {
            return false;
        }
        const OpValueId id = m_resident[best];
        tellEviction(id, least);
        m_state[id] = State::Evicted;
        remove(best);
        joinComponents(m_graph.value(id).producer);
        return true;
    }

    /// Byte-seconds since its last use for what it and its surroundings cost.
    void tellEviction(OpValueId id, double score) const
    {
        if (m_request.listener != nullptr && m_readsLeft[id] > 0) {
            const double gain = static_cast<double>(m_graph.value(id).bytes) * std::max(m_clock - m_lastUse[id], 1e-9);
            m_request.listener->onDrop({id, event::PlanReason::Eviction, gain, score * gain});
        }
    }

    [[nodiscard]] double scoreOf(OpValueId id)
    {
        const OpId producer = m_graph.value(id).producer;
        double cost = m_readsLeft[id] == 0 ? 0 : m_graph.op(producer).cost;
        m_seen.clear();
        for (const OpValueId input : m_graph.reads(producer)) {
            cost += neighbourCost(input);
        }
        for (const OpId reader : m_graph.readers(id)) {
            for (const OpValueId output : m_graph.op(reader).outputs) {
                cost += neighbourCost(output);
            }
        }
        return cost / (static_cast<double>(m_graph.value(id).bytes) * std::max(m_clock - m_lastUse[id], 1e-9));
    }

    /// Cost of the component of an evicted value, once.
    [[nodiscard]] double neighbourCost(OpValueId id)
    {
        if (m_state[id] != State::Evicted || m_graph.op(m_graph.value(id).producer).phase != analysis::Phase::Forward) {
            return 0;
        }
        const OpId root = rootOf(m_graph.value(id).producer);
        if (std::find(m_seen.begin(), m_seen.end(), root) != m_seen.end()) {
            return 0;
        }
        m_seen.push_back(root);
        return m_componentCost[root];
    }

    // --- components of evicted operators

    [[nodiscard]] OpId rootOf(OpId op)
    {
        while (m_component[op] != op) {
            m_component[op] = m_component[m_component[op]];
            op = m_component[op];
        }
        return op;
    }

    void unite(OpId a, OpId b)
    {
        a = rootOf(a);
        b = rootOf(b);
        if (a != b) {
            m_component[b] = a;
            m_componentCost[a] += m_componentCost[b];
        }
    }

    void joinComponents(OpId op)
    {
        if (m_graph.op(op).phase != analysis::Phase::Forward) {
            return;
        }
        m_componentCost[rootOf(op)] += m_graph.op(op).cost;
        for (const OpValueId input : m_graph.reads(op)) {
            if (m_state[input] == State::Evicted) {
                unite(op, m_graph.value(input).producer);
            }
        }
        for (const OpValueId output : m_graph.op(op).outputs) {
            for (const OpId reader : m_graph.readers(output)) {
                joinReader(op, reader);
            }
        }
    }

    void joinReader(OpId op, OpId reader)
    {
        const auto isEvicted = [&](OpValueId output) { return m_state[output] == State::Evicted; };
        if (m_graph.op(reader).phase == analysis::Phase::Forward &&
            std::ranges::any_of(m_graph.op(reader).outputs, isEvicted)) {
            unite(op, reader);
        }
    }

    /// A rebuilt operator takes its cost along; it may stay linked as a node of its former component (phantom links).
    void leaveComponent(OpId op)
    {
        const auto isEvicted = [&](OpValueId output) { return m_state[output] == State::Evicted; };
        if (std::ranges::any_of(m_graph.op(op).outputs, isEvicted)) {
            double& cost = m_componentCost[rootOf(op)];
            cost = std::max(0.0, cost - m_graph.op(op).cost);
        }
    }

    const OpGraph& m_graph;
    const PlanRequest& m_request;
    bool m_knowsReads;
    std::vector<std::uint32_t> m_readsLeft;
    std::vector<std::uint32_t> m_locks;
    std::vector<double> m_lastUse;
    std::vector<State> m_state;
    std::vector<OpId> m_component;
    std::vector<double> m_componentCost;
    std::vector<OpId> m_seen;
    std::vector<OpValueId> m_resident;
    std::vector<OpId> m_sequence;
    std::uint64_t m_live = 0;
    double m_clock = 0;
};

base::Result<Draft> offline(const PlanRequest& request) { return Rematerialiser(request, true).run(); }
base::Result<Draft> online(const PlanRequest& request) { return Rematerialiser(request, false).run(); }

} // namespace

const Planner kDtr{"dtr", "DTR",
                   "evicts the stalest, largest, cheapest value when memory is full; knows the program's reads",
                   &offline};
const Planner kDtrOnline{"dtr_online", "DTR, online", "the same without knowing what is never read again", &online};

} // namespace retro::schedule
