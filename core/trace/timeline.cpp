// SPDX-License-Identifier: Apache-2.0
#include "core/trace/timeline.h"

#include "core/base/cancel.h"
#include "core/base/leftovers.h"
#include "core/trace/delta/consistency.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

namespace retro::trace
{

using base::Result;

/// States at multiples of the interval, from position 0.
struct Timeline::Keyframes
{
    std::uint64_t interval = kKeyframeInterval;
    std::vector<RunState> states;
    std::size_t bytes = 0; ///< what the states hold, each beyond what it shares with the one before it

    void add(const RunState& state);

private:
    void append(RunState state);
    void dropEverySecond();
};

namespace
{

/// Copying a keyframe costs about as much as this many events.
constexpr std::uint64_t kCopyCost = 256;

/// Well under a millisecond.
constexpr std::uint64_t kStepsBetweenStopChecks = 256;

std::size_t bytesOf(const NodeState& node)
{
    return sizeof(node) + node.parts.capacity() * sizeof(Part) + node.relevance.capacity() * sizeof(HandleId);
}

std::size_t bytesOf(const BranchState& branch)
{
    return sizeof(branch) + branch.path.capacity() * sizeof(NodeId) + branch.children.capacity() * sizeof(PromiseId);
}

std::size_t bytesOf(const PromiseState& promise)
{
    std::size_t bytes = sizeof(promise) + promise.relevance.capacity() * sizeof(HandleId) +
                        promise.parents.capacity() * sizeof(ParentState);
    for (const BranchState& branch : promise.branches) {
        bytes += bytesOf(branch);
    }
    return bytes;
}

std::size_t bytesOf(const PlannedTensor&) { return sizeof(PlannedTensor); }

std::size_t bytesOf(const HandleUse&) { return sizeof(HandleUse); }

/// Bytes that `state` does not share with `before`.
std::size_t unsharedBytes(const RunState& state, const RunState& before)
{
    std::size_t bytes = sizeof(state);
    const auto add = [&bytes](const auto& item) { bytes += bytesOf(item); };
    state.nodes.forEachUnshared(before.nodes, add);
    state.promises.forEachUnshared(before.promises, add);
    state.handleUses.forEachUnshared(before.handleUses, add);
    state.planned.forEachUnshared(before.planned, add);
    bytes += (state.planned.blockCount() + state.nodes.blockCount() + state.promises.blockCount() +
              state.handleUses.blockCount()) *
             sizeof(void*);
    bytes += (state.normalStack.size() + state.searchStack.size() + state.queue.size()) * sizeof(NodeId);
    return bytes;
}

void recordVisit(VisitSeries& series, const RunState& state)
{
    series.mode.push_back(state.mode);
    series.frontierLanded.push_back(state.frontierLanded);
    series.frontierHeld.push_back(state.frontierHeld);
    series.frontierBytes.push_back(state.frontierBytes.sum());
    series.stackDepth.push_back(static_cast<std::uint32_t>(state.normalStack.size() + state.searchStack.size()));
    series.queueDepth.push_back(static_cast<std::uint32_t>(state.queue.size()));
    series.node.push_back(state.current);
}

void recordPromise(VisitSeries& series, const Event& event, std::uint64_t step)
{
    if (event.kind == event::EventKind::NewPromise) {
        series.promisesOpened.push_back(step);
    } else if (event.kind == event::EventKind::Complete) {
        series.promisesCompleted.push_back(step);
    }
}

} // namespace

void Timeline::Keyframes::append(RunState state)
{
    bytes += unsharedBytes(state, states.empty() ? RunState() : states.back());
    states.push_back(std::move(state));
}

void Timeline::Keyframes::dropEverySecond()
{
    std::vector<RunState> all = std::exchange(states, {});
    bytes = 0;
    for (std::size_t i = 0; i < all.size(); i += 2) {
        append(std::move(all[i]));
    }
    interval *= 2;
}

void Timeline::Keyframes::add(const RunState& state)
{
    append(state);
    while (states.size() > 1 && bytes > kKeyframeBytes) {
        dropEverySecond();
    }
}

/// Walks a run once, checks it, and leaves keyframes and series behind.
class Timeline::Opener
{
public:
    explicit Opener(const Run& run) : m_run(run), m_state(run) {}

    Result<void> walk(const std::stop_token& stop)
    {
        m_keyframes.add(m_state);
        std::uint32_t visit = 0;
        for (std::uint64_t step = 0; step < m_run.events.size(); ++step) {
            if (step % kStepsBetweenStopChecks == 0) {
                RETRO_CHECK(base::checkStop(stop));
            }
            if (visit < m_run.visitCount() && step == m_run.endOfVisit(visit)) {
                endVisit();
                ++visit;
            }
            RETRO_CHECK(apply(step));
        }
        if (visit < m_run.visitCount()) {
            endVisit();
        }
        return {};
    }

    std::shared_ptr<const Keyframes> keyframes() { return std::make_shared<Keyframes>(std::move(m_keyframes)); }
    std::shared_ptr<const VisitSeries> series() { return std::make_shared<VisitSeries>(std::move(m_series)); }

private:
    void endVisit()
    {
        recordVisit(m_series, m_state);
        m_series.most.push_back(std::exchange(m_most, {}));
    }

    Result<void> apply(std::uint64_t step)
    {
        const Event& event = m_run.events[step];
        if (const char* reason = delta::contradiction(event, m_state, m_run)) {
            return base::inputError(fmt::format("the events of this run contradict each other: {}; the file is "
                                                "damaged, record the run again",
                                                reason),
                                    fmt::format("event {}", step));
        }
        m_state.apply(event, m_run, step);
        if (m_state.frontierBytes.sum() >= m_most.sum()) {
            m_most = m_state.frontierBytes;
        }
        recordPromise(m_series, event, step);
        if ((step + 1) % m_keyframes.interval == 0) {
            m_keyframes.add(m_state);
        }
        return {};
    }

    const Run& m_run;
    RunState m_state;
    Keyframes m_keyframes;
    VisitSeries m_series;
    FrontierBytes m_most; ///< since the visit began
};

Result<Timeline> Timeline::open(std::shared_ptr<const Run> run, const std::stop_token& stop)
{
    Opener opener(*run);
    if (Result<void> walked = opener.walk(stop); !walked) {
        base::Leftovers::add(opener.keyframes());
        return walked.error();
    }
    Timeline timeline;
    timeline.m_state = RunState(*run);
    timeline.m_run = std::move(run);
    timeline.m_keyframes = opener.keyframes();
    timeline.m_series = opener.series();
    return timeline;
}

void Timeline::seek(std::uint64_t position)
{
    const std::uint64_t target = std::min<std::uint64_t>(position, m_run->events.size());
    const auto distance = [target](std::uint64_t from) { return from > target ? from - target : target - from; };
    const std::uint64_t interval = m_keyframes->interval;
    const std::uint64_t nearest =
        std::min<std::uint64_t>((target + interval / 2) / interval, m_keyframes->states.size() - 1);
    if (distance(nearest * interval) + kCopyCost < distance(m_position)) {
        m_state = m_keyframes->states[nearest];
        m_position = nearest * interval;
    }
    while (m_position < target) {
        forward();
    }
    while (m_position > target) {
        back();
    }
}

bool Timeline::forward()
{
    if (m_position == m_run->events.size()) {
        return false;
    }
    m_state.apply(m_run->events[m_position], *m_run, m_position);
    ++m_position;
    return true;
}

bool Timeline::back()
{
    if (m_position == 0) {
        return false;
    }
    --m_position;
    m_state.revert(m_run->events[m_position], *m_run, m_position);
    return true;
}

} // namespace retro::trace
