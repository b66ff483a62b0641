// SPDX-License-Identifier: Apache-2.0
#include "core/analysis/orders.h"

#include <algorithm>
#include <unordered_map>

namespace retro::analysis
{

namespace
{

using Set = std::uint32_t;
constexpr std::size_t kMaxSets = 4'000'000;

/// Best peaks of all ways to reach a set of done operators.
struct Reached
{
    std::uint64_t transient = 0;
    std::uint64_t live = 0;
    OpId last = kNone; ///< last operator of the way with the least transient peak
};

class Search
{
public:
    explicit Search(const OpGraph& graph) : m_graph(graph), m_producers(graph.size(), 0)
    {
        for (OpId op = 0; op < graph.size(); ++op) {
            for (const OpValueId input : graph.reads(op)) {
                const OpId producer = graph.value(input).producer;
                m_producers[op] |= producer == kNone ? 0 : Set{1} << producer;
            }
        }
        for (const OpValue& value : graph.values()) {
            m_readers.push_back(0);
            const auto id = static_cast<OpValueId>(m_readers.size() - 1);
            for (const OpId reader : graph.readers(id)) {
                m_readers.back() |= Set{1} << reader;
            }
            m_stays.push_back(value.isOutput || value.isRequired);
        }
        m_levels.resize(graph.size() + 1);
        m_levels[0][0] = {};
    }

    bool run(const std::stop_token& stop)
    {
        std::size_t total = 0;
        for (std::size_t level = 0; level < m_graph.size(); ++level) {
            for (const auto& [set, reached] : m_levels[level]) {
                expand(set, reached, m_levels[level + 1]);
            }
            total += m_levels[level + 1].size();
            if (total > kMaxSets || stop.stop_requested()) {
                return false;
            }
        }
        return true;
    }

    [[nodiscard]] ExactOrders result() const
    {
        Set set = fullSet();
        const Reached& end = m_levels.back().at(set);
        ExactOrders exact{end.transient, end.live, {}};
        for (std::size_t level = m_graph.size(); level > 0; --level) {
            const OpId last = m_levels[level].at(set).last;
            exact.order.push_back(last);
            set &= ~(Set{1} << last);
        }
        std::reverse(exact.order.begin(), exact.order.end());
        return exact;
    }

private:
    using Level = std::unordered_map<Set, Reached>;

    [[nodiscard]] Set fullSet() const { return (Set{1} << m_graph.size()) - 1; }

    [[nodiscard]] std::uint64_t liveOf(Set done) const
    {
        std::uint64_t bytes = 0;
        for (OpValueId id = 0; id < m_readers.size(); ++id) {
            const OpValue& value = m_graph.value(id);
            const bool isMade = value.producer != kNone && (done >> value.producer & 1U) != 0;
            bytes += isMade && (m_stays[id] || (m_readers[id] & ~done) != 0) ? value.bytes : 0;
        }
        return bytes;
    }

    void expand(Set set, const Reached& reached, Level& next) const
    {
        const std::uint64_t before = liveOf(set);
        for (OpId op = 0; op < m_graph.size(); ++op) {
            const Set bit = Set{1} << op;
            if ((set & bit) != 0 || (m_producers[op] & ~set) != 0) {
                continue;
            }
            const std::uint64_t during = before + m_graph.outputBytes(op, true) + m_graph.op(op).workspace;
            const Reached candidate{std::max(reached.transient, during), std::max(reached.live, liveOf(set | bit)), op};
            merge(next, set | bit, candidate);
        }
    }

    static void merge(Level& level, Set set, const Reached& candidate)
    {
        const auto [at, isNew] = level.try_emplace(set, candidate);
        if (isNew) {
            return;
        }
        Reached& known = at->second;
        // Ties by operator, so that the answer does not depend on the order inside the hash map.
        const bool isBetter = candidate.transient < known.transient ||
                              (candidate.transient == known.transient && candidate.last < known.last);
        known.last = isBetter ? candidate.last : known.last;
        known.transient = std::min(known.transient, candidate.transient);
        known.live = std::min(known.live, candidate.live);
    }

    const OpGraph& m_graph;
    std::vector<Set> m_producers;
    std::vector<Set> m_readers; ///< per value
    std::vector<bool> m_stays;
    std::vector<Level> m_levels;
};

} // namespace

std::optional<ExactOrders> exactOrders(const OpGraph& graph, const std::stop_token& stop)
{
    if (graph.size() > kMaxExactOps) {
        return std::nullopt;
    }
    Search search(graph);
    return search.run(stop) ? std::optional(search.result()) : std::nullopt;
}

} // namespace retro::analysis
