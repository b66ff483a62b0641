// SPDX-License-Identifier: Apache-2.0
// Picks: visits, the two stacks, the promise queue.
#include "core/trace/delta/deltas.h"

namespace retro::trace::delta
{

namespace
{

std::vector<NodeId>& stackOf(RunState& state, const Event& event)
{
    return event.extra == 0 ? state.normalStack : state.searchStack;
}

void applyVisit(RunState& state, const Event& event, const Run&, std::uint64_t)
{
    NodeState& node = state.nodes.edit(event.node);
    node.lastMode = event.mode;
    ++node.visits;
    state.current = nodeOf(event);
    state.mode = event.mode;
    state.visit = event.visit;
}

void revertVisit(RunState& state, const Event& event, const Run&, std::uint64_t)
{
    NodeState& node = state.nodes.edit(event.node);
    node.lastMode = static_cast<event::Mode>(event.extra);
    --node.visits;
    state.current = NodeId(event.other);
    state.mode = state.current.isValid() ? state.nodes[event.other].lastMode : event::Mode::None;
    state.visit = event.visit > 0 ? event.visit - 1 : 0;
}

void push(RunState& state, const Event& event, const Run&, std::uint64_t)
{
    stackOf(state, event).push_back(nodeOf(event));
}

void pop(RunState& state, const Event& event, const Run&, std::uint64_t) { stackOf(state, event).pop_back(); }

void applyEnqueue(RunState& state, const Event& event, const Run&, std::uint64_t)
{
    state.queue.push_back(nodeOf(event));
}

void revertEnqueue(RunState& state, const Event&, const Run&, std::uint64_t) { state.queue.pop_back(); }

void applyDequeue(RunState& state, const Event& event, const Run&, std::uint64_t)
{
    state.queue.erase(state.queue.begin() + event.extra);
}

void revertDequeue(RunState& state, const Event& event, const Run&, std::uint64_t)
{
    state.queue.insert(state.queue.begin() + event.extra, nodeOf(event));
}

void applyFinished(RunState& state, const Event&, const Run&, std::uint64_t) { state.isFinished = true; }

void revertFinished(RunState& state, const Event&, const Run&, std::uint64_t) { state.isFinished = false; }

} // namespace

const Delta kVisit{applyVisit, revertVisit};
const Delta kPush{push, pop};
const Delta kPop{pop, push};
const Delta kEnqueue{applyEnqueue, revertEnqueue};
const Delta kDequeue{applyDequeue, revertDequeue};
const Delta kFinished{applyFinished, revertFinished};

} // namespace retro::trace::delta
