// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/base/result.h"
#include "core/trace/run.h"
#include "core/trace/runstate.h"

#include <memory>
#include <stop_token>
#include <vector>

namespace retro::trace
{

/// Events between two keyframes, as long as the keyframes stay within kKeyframeBytes.
inline constexpr std::uint64_t kKeyframeInterval = 4096;
/// Most bytes that the keyframes of one run take. When they would take more, every second one is dropped and the
/// interval doubles; a keyframe shares with the one before it what did not change, and only what it does not share
/// counts.
inline constexpr std::size_t kKeyframeBytes = 64U << 20;

/// One value per visit, for charts. Index = visit; the state after the visit's last event.
struct VisitSeries
{
    std::vector<event::Mode> mode;
    std::vector<std::uint32_t> frontierLanded;
    std::vector<std::uint32_t> frontierHeld;
    std::vector<std::int64_t> frontierBytes;
    std::vector<FrontierBytes> most;       ///< while the visit lasted, at the moment of the largest sum
    std::vector<std::uint32_t> stackDepth; ///< normal stack and search stack together
    std::vector<std::uint32_t> queueDepth;
    std::vector<NodeId> node;
    std::vector<std::uint64_t> promisesOpened;    ///< steps of NewPromise events, in order
    std::vector<std::uint64_t> promisesCompleted; ///< steps of Complete events, in order
};

/// A run with a position. position() = number of events applied: 0 is before the first, events.size() after the last.
/// Seeks from the nearest keyframe. Not thread-safe; give each thread its own copy: copies share the run, the keyframes
/// and the series, which never change.
class Timeline
{
public:
    /// Walks the run once: keyframes and series. Error (Input) when the events contradict each other (damaged file);
    /// it names the event and what is wrong. Ends at position 0. A stop request ends it with the error Cancelled.
    [[nodiscard]] static base::Result<Timeline> open(std::shared_ptr<const Run> run, const std::stop_token& stop = {});

    [[nodiscard]] const Run& run() const { return *m_run; }
    [[nodiscard]] const std::shared_ptr<const Run>& sharedRun() const { return m_run; }
    [[nodiscard]] const VisitSeries& series() const { return *m_series; }
    [[nodiscard]] std::uint64_t position() const { return m_position; }
    [[nodiscard]] const RunState& state() const { return m_state; }

    /// Goes to a position (clamped). Cost: at most one keyframe copy and the events of half an interval.
    void seek(std::uint64_t position);
    /// One event on or back; false at the end or the start.
    bool forward();
    bool back();

private:
    struct Keyframes;
    class Opener;
    Timeline() = default;
    std::shared_ptr<const Run> m_run;
    std::shared_ptr<const Keyframes> m_keyframes;
    std::shared_ptr<const VisitSeries> m_series;
    RunState m_state;
    std::uint64_t m_position = 0;
};

} // namespace retro::trace
