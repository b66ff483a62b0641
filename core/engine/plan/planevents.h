// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/analysis/joint.h"
#include "core/event/planevent.h"
#include "core/event/sink.h"
#include "core/graph/graph.h"
#include "core/schedule/searchlistener.h"
#include "core/schedule/simulator.h"

#include <memory>
#include <set>
#include <string>
#include <vector>

namespace retro::engine
{

/// Where operators and values of a joint graph stand in the graph that it was made of: by their names. Gradients of
/// initialisers ("dw:…") have a node and no value.
class PlanPlaces
{
public:
    PlanPlaces(const graph::Graph& graph, const analysis::OpGraph& joint);

    /// A value; its node is invalid where the graph has no such value.
    [[nodiscard]] const event::PlannedValue& of(analysis::OpValueId value) const { return m_values[value]; }
    /// Which output of its node a value is; 0 for inputs.
    [[nodiscard]] std::uint32_t outputOf(analysis::OpValueId value) const { return m_outputs[value]; }
    /// The node of an operator, of a gradient the one whose result's gradient it is; invalid where there is none.
    [[nodiscard]] base::NodeId nodeOf(analysis::OpId op) const { return m_nodes[op]; }

private:
    void place(const graph::Graph& graph, const analysis::OpGraph& joint, analysis::OpValueId id);

    std::vector<event::PlannedValue> m_values;
    std::vector<std::uint32_t> m_outputs;
    std::vector<base::NodeId> m_nodes;
};

/// What planners did until a plan was there, as events of a run; its first visits.
struct SearchRecord
{
    std::vector<event::Event> events;
    std::vector<std::string> tries; ///< the planner of each Candidate event
    std::uint32_t visits = 0;       ///< how many the events are
    base::NodeId current;           ///< of the last visit
    std::size_t leftOut = 0;        ///< events beyond kMostSearchEvents
    bool operator==(const SearchRecord&) const = default;
};
/// Events of a search that are recorded; those beyond are counted.
inline constexpr std::size_t kMostSearchEvents = 500'000;

/// Writes a search down as the events that core/event/event.h documents: a visit per cut, per value that is let go
/// (with what is made again for it) and per candidate.
class SearchRecorder final : public schedule::SearchListener
{
public:
    /// Borrowed for the life of the recorder.
    SearchRecorder(const PlanPlaces& places, base::NodeId home)
        : m_places(places), m_home(home.isValid() ? home : base::NodeId(std::size_t{0}))
    {}

    void onPlanner(std::string_view name) override { m_planner = name; }
    void onSplit(const schedule::SplitNote& note) override;
    void onDrop(const schedule::DropNote& note) override;
    void onRebuild(const schedule::RebuildNote& note) override;
    void onCandidate(const schedule::CandidateNote& note) override;
    [[nodiscard]] SearchRecord take() && { return std::move(m_record); }

private:
    void visit(base::NodeId node);
    void add(event::Event event);
    [[nodiscard]] bool isFull();
    [[nodiscard]] std::uint32_t attempt() const { return static_cast<std::uint32_t>(m_record.tries.size()); }

    const PlanPlaces& m_places;
    base::NodeId m_home; ///< where a candidate without a peak is shown
    SearchRecord m_record;
    std::string m_planner;
    std::uint32_t m_best = base::PromiseId::kInvalid;
    bool m_isDropping = false;
};

/// Writes down how a plan is carried out, step by step, behind the search that led to it: a visit per computation or
/// move; what is freed belongs to the one before.
class PlanEvents
{
public:
    /// Borrowed for the life of the events. `search` is sent at once.
    PlanEvents(const PlanPlaces& places, const analysis::OpGraph& joint, event::Sink& sink, const SearchRecord& search);

    /// A tensor that the step to come made. Without one a step is known by its bytes alone.
    void onTensor(analysis::OpValueId value, const tensor::Tensor& tensor);
    /// A step was carried out; `left` went to its tier before it. Rows of a ledger that it booked follow with onRule().
    void onStep(const schedule::Step& step, bool isAgain, std::span<const analysis::OpValueId> left);
    /// A rule was applied in the last step.
    void onRule(event::LedgerEntry entry);
    /// The plan is done.
    void finish();
    /// Value per handle, by HandleId.
    [[nodiscard]] const std::vector<analysis::OpValueId>& handles() const { return m_valueOf; }
    [[nodiscard]] std::uint32_t visits() const { return m_visits; }

private:
    void compute(analysis::OpId op, bool isAgain);
    void send(event::EventKind kind, analysis::OpValueId id, std::uint32_t slot, std::uint8_t bits = 0);
    void visit(base::NodeId node);
    void put(event::Event event);
    [[nodiscard]] bool isKnown(analysis::OpValueId id) const;
    [[nodiscard]] base::HandleId handleOf(analysis::OpValueId id);

    const PlanPlaces& m_places;
    const analysis::OpGraph& m_joint;
    event::Sink& m_sink;
    std::vector<base::HandleId> m_handles;      ///< per value
    std::vector<analysis::OpValueId> m_valueOf; ///< per handle
    std::vector<std::uint32_t> m_tiers;         ///< per value: where it went last
    std::set<std::uint32_t> m_knownRelevance;   ///< values whose gradient was made
    base::NodeId m_current;
    std::uint32_t m_visits = 0;
    std::uint32_t m_rules = 0;
    bool m_hasStep = false;
};

/// The steps of a plan as the simulator sees them: what leaves for its tier at each.
void reportSteps(const schedule::Plan& plan, const schedule::Simulation& predicted, PlanEvents& events);

} // namespace retro::engine
