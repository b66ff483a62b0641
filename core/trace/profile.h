// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/event/observer.h"

#include <chrono>
#include <cstdint>
#include <functional>
#include <string>
#include <vector>

namespace retro::trace
{

struct Run;

/// A computation of a node in a pass.
struct ProfileRow
{
    base::NodeId node;
    event::NodeWork work;
    double begin = 0;       ///< seconds since the pass began
    std::uint64_t step = 0; ///< events of the run before it ended; 0 where the run has none of its half
    bool operator==(const ProfileRow& other) const;
};

/// What was decided about a value in a pass.
struct DecisionRow
{
    base::ValueId value;
    event::MemoryChoice choice = event::MemoryChoice::Keep;
    std::int64_t bytes = 0; ///< of the value
    std::string reason;
    double at = 0;          ///< seconds since the pass began
    std::uint64_t step = 0; ///< as of ProfileRow
    bool operator==(const DecisionRow&) const = default;
};

/// What a pass spent, computation by computation, and what it decided, each in the order of the pass.
struct Profile
{
    std::vector<ProfileRow> rows;
    std::vector<DecisionRow> decisions;
    [[nodiscard]] bool isEmpty() const { return rows.empty() && decisions.empty(); }
    bool operator==(const Profile&) const = default;
};

/// What a pass spent on one node.
struct NodeTotal
{
    base::NodeId node;
    double forwardSeconds = 0;
    double reverseSeconds = 0;
    double rebuildSeconds = 0; ///< of computing it again, in either half
    double flops = 0;          ///< forward, the first time
    double reverseFlops = 0;
    double rebuildFlops = 0;
    std::int64_t bytes = 0;   ///< of its results
    std::size_t rebuilds = 0; ///< times that it was computed again

    [[nodiscard]] double seconds() const { return forwardSeconds + reverseSeconds + rebuildSeconds; }
    [[nodiscard]] double allFlops() const { return flops + reverseFlops + rebuildFlops; }
};

/// Sums per node of a graph of so many nodes, by id. Rows of other nodes are left out.
[[nodiscard]] std::vector<NodeTotal> nodeTotals(const Profile& profile, std::size_t nodeCount);
/// The most expensive first; equal ones by id.
[[nodiscard]] std::vector<NodeTotal> byTime(std::vector<NodeTotal> totals);

/// Takes the profile of a pass as it runs; its clock starts when it is made.
class ProfileRecorder final : public event::PerformanceObserver
{
public:
    /// From now on rows get the number of events that `position` tells; before, and for an empty one, 0.
    void setPosition(std::function<std::uint64_t()> position) { m_position = std::move(position); }

    void onNodeProcessed(base::NodeId node, const event::NodeWork& work) override;
    /// As PerformanceObserver's.
    void onMemoryDecision(base::ValueId value, event::MemoryChoice choice, std::int64_t bytes,
                          std::string_view reason) override;

    /// What was taken so far.
    [[nodiscard]] const Profile& profile() const { return m_profile; }
    /// Moves it out; rows without a step get that of the event of `run` that tells of them, where there is one (a
    /// forward half that was told later, a rule of a program).
    [[nodiscard]] Profile take(const Run* run = nullptr) &&;

private:
    using Clock = std::chrono::steady_clock;
    [[nodiscard]] double now() const { return std::chrono::duration<double>(Clock::now() - m_start).count(); }
    [[nodiscard]] std::uint64_t step() const { return m_position ? m_position() : 0; }

    Clock::time_point m_start = Clock::now();
    std::function<std::uint64_t()> m_position;
    Profile m_profile;
};

} // namespace retro::trace
