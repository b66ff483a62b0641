// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/event/event.h"
#include "core/execute/savedvalues.h"
#include "core/lrp/composite/composite.h"
#include "core/lrp/traversal/traversalgraph.h"
#include "core/trace/runplan.h"

#include <cstdint>
#include <map>
#include <utility>
#include <vector>

namespace retro::engine
{

/// Books how values that a plan dropped come back, from the events of a traversal over real tensors or over none.
/// Everything is borrowed for its life.
class ReturnBook
{
public:
    /// `saved` says what is kept; `dropped` is to be filled.
    ReturnBook(const execute::BoundModel& model, const lrp::RuleAssignment& rules, const lrp::TraversalGraph& graph,
               const execute::SavePlan& saved, std::vector<trace::DroppedValue> dropped);

    /// The next event. `visit` is its visit on the time axis of the run.
    void take(const event::Event& event, std::uint32_t visit);
    /// A node ran again since the last event, for what is booked next.
    void ran(base::NodeId node) { m_ran.push_back(node); }
    /// What the rule of a node is about to read and computes again itself: outputs that nobody kept.
    [[nodiscard]] std::vector<base::ValueId> recomputedBy(base::NodeId node) const;
    /// The value that is argument of an Arg event, where the plan dropped it; else invalid.
    [[nodiscard]] base::ValueId droppedArgument(const event::Event& event) const;
    [[nodiscard]] const std::vector<trace::DroppedValue>& dropped() const { return m_dropped; }

private:
    struct Branch
    {
        std::vector<base::NodeId> crossed; ///< in the order in which the search crossed them
        std::uint32_t child = base::PromiseId::kInvalid;
    };

    [[nodiscard]] bool isDropped(base::ValueId value) const;
    void takeArgument(const event::Event& event, std::uint32_t visit);
    void takeRule(base::NodeId node, std::uint32_t visit);
    [[nodiscard]] std::vector<base::NodeId> runsFor(const event::Event& event);
    void add(base::ValueId value, trace::ValueReturn back);

    const execute::BoundModel& m_model;
    const lrp::RuleAssignment& m_rules;
    const lrp::TraversalGraph& m_graph;
    const execute::SavePlan& m_saved;
    std::vector<trace::DroppedValue> m_dropped;
    std::vector<std::uint32_t> m_at;    ///< per value: position in m_dropped
    std::vector<base::NodeId> m_starts; ///< per promise
    std::map<std::pair<std::uint32_t, std::uint32_t>, Branch> m_branches;
    std::vector<base::NodeId> m_ran;
};

} // namespace retro::engine
