// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "views/verify/stepchecks.h"

#include <set>
#include <utility>

namespace retro::views
{

/// Places of nodes (in-edges, outputs) that are marked; long runs have a million of them.
class PlaceMarks
{
public:
    explicit PlaceMarks(std::size_t nodes) : m_first(nodes, 0) {}

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

/// Walks over the events of a run once and keeps for every invariant on which it was checked and where it broke.
class StepChecks::Walk
{
public:
    Walk(const trace::Run& run, StepChecks& checks);

    void see(std::uint64_t step);

private:
    void note(Invariant invariant, std::uint64_t step, bool holds, base::NodeId node, base::NodeId other = {});
    void checkLanding(std::uint64_t step, const trace::Event& e);
    void checkSlot(std::uint64_t step, const trace::Event& e, base::NodeId from);
    void checkSender(std::uint64_t step, const trace::Event& e, base::NodeId from);
    void checkRule(std::uint64_t step, const trace::Event& e);
    void checkLedger(std::uint64_t step, const trace::Event& e);
    [[nodiscard]] bool declares(base::NodeId from, std::uint32_t slot, base::NodeId node) const;
    [[nodiscard]] bool isOperandOf(base::ValueId operand, base::NodeId node) const;
    [[nodiscard]] bool isRepeated(base::NodeId from, std::uint32_t slot);
    [[nodiscard]] bool hasShapeOf(std::uint32_t handle, base::ValueId value) const;
    [[nodiscard]] base::ValueId valueAt(const trace::Event& landing, base::NodeId from) const;
    [[nodiscard]] bool carriesNothing(std::uint32_t node) const;
    [[nodiscard]] bool isNode(std::uint32_t id) const { return id < m_run.graph->nodeCount(); }
    [[nodiscard]] bool isInput(std::uint32_t id) const { return !isNode(id) && id < m_run.graph->runNodeCount(); }

    const trace::Run& m_run;
    StepChecks& m_checks;
    std::vector<std::uint8_t> m_ruleRan;  // per node
    std::vector<std::int64_t> m_places;   // per node: places of its slot; 0 = nothing landed yet
    std::vector<std::uint32_t> m_written; // per node: how often something landed
    PlaceMarks m_filled;                  // in-edges that hold a part
    PlaceMarks m_known;                   // outputs whose relevance is known
    base::NodeId m_repeatedOf;            // whose operands m_repeated is about
    std::vector<std::uint8_t> m_repeated; // per operand slot: an earlier one reads the same value
};

} // namespace retro::views
