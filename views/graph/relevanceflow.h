// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/layout/graphadapter.h"
#include "core/trace/run.h"
#include "core/trace/runstate.h"

#include <cstdint>
#include <optional>
#include <vector>

namespace retro::views
{

/// A visit, with the step of its Visit event.
struct VisitMark
{
    std::uint64_t step = 0;
    base::NodeId node;
    event::Mode mode = event::Mode::None;
};

/// A row of the ledger that does not add up.
struct LeakMark
{
    std::uint32_t row = 0;
    base::NodeId node;
};

/// What a run says about the edges and nodes of its drawing, gathered in one walk over the events: what landed over
/// which edge and when, who was visited, where relevance got lost. Immutable.
class RelevanceFlow
{
public:
    RelevanceFlow() = default;
    /// O(events + edges log edges).
    RelevanceFlow(const layout::DrawnGraph& drawn, const trace::Run& run);

    /// Σ of the relevance that has passed an edge of the drawing after `position` events; nothing while none has, or
    /// while only a promise has passed.
    [[nodiscard]] std::optional<double> at(layout::Index edge, std::uint64_t position, const trace::Run& run,
                                           const trace::RunState& state) const;
    /// In order of time.
    [[nodiscard]] const std::vector<VisitMark>& visits() const { return m_visits; }
    /// By row.
    [[nodiscard]] const std::vector<LeakMark>& leaks() const { return m_leaks; }

private:
    /// A part that came over an edge.
    struct Landing
    {
        std::uint64_t step = 0;
        base::HandleId handle;
        base::PromiseId promise;
        std::uint32_t branch = 0;
    };
    struct LandRecord;
    void readEvents(const trace::Run& run, std::size_t nodeCount, std::vector<LandRecord>& records);
    /// Per record the edge of the drawing, or kNone.
    [[nodiscard]] static std::vector<layout::Index> edgesOf(const layout::DrawnGraph& drawn,
                                                            const std::vector<LandRecord>& records);
    void assign(const layout::DrawnGraph& drawn, const std::vector<LandRecord>& records);
    void readLedger(const trace::Run& run, std::size_t nodeCount);

    std::vector<layout::Index> m_offsets; // landings of edge e: [m_offsets[e], m_offsets[e + 1]), by step
    std::vector<Landing> m_landings;
    std::vector<VisitMark> m_visits;
    std::vector<LeakMark> m_leaks;
};

/// The position to assume for a state when only the state is at hand: after the last event of its visit.
[[nodiscard]] std::uint64_t positionOf(const trace::Run& run, const trace::RunState& state);

} // namespace retro::views
