// SPDX-License-Identifier: Apache-2.0
// A planner's search, and what a plan has in memory.
#include "core/trace/delta/deltas.h"

#include "core/event/planevent.h"

namespace retro::trace::delta
{

namespace
{

bool isForMoment(const Event& event) { return event.extra == 1; }

bool isOfPromise(const Event& event) { return event.promise != PromiseId::kInvalid; }

/// A tensor of a plan has come (sign 1) or is about to go (−1): if it is a forward value, it counts as such.
void countKept(RunState& state, const Event& event, const Run& run, int sign)
{
    const HandleId handle = handleOf(event);
    if (handle.isValid() && !event::isOfGradient(event) && state.handleUses[handle.index()].landed == 1) {
        const std::int64_t bytes = sign * run.handles[handle.index()].bytes;
        state.frontierBytes.kept += bytes;
        state.frontierBytes.relevance -= bytes;
    }
}

void enter(RunState& state, const Event& event, const Run& run)
{
    state.planned.edit(state.plannedSlot(event.other, event::isOfGradient(event))) = {handleOf(event), nodeOf(event)};
    countUse(state, run, handleOf(event), 1, 0);
    countKept(state, event, run, 1);
}

void leave(RunState& state, const Event& event, const Run& run)
{
    countKept(state, event, run, -1);
    state.planned.edit(state.plannedSlot(event.other, event::isOfGradient(event))) = {};
    countUse(state, run, handleOf(event), -1, 0);
}

/// What a promise brought that the plan had dropped takes memory of its own.
void holdBrought(RunState& state, const Event& event, const Run& run, bool isHeld)
{
    if (bringsArgument(state, event)) {
        hold(state.promises.edit(event.promise).branches[event.branch], isHeld, state, run);
    }
}

void applyCandidate(RunState& state, const Event& event, const Run&, std::uint64_t)
{
    ++state.plan.tries;
    state.plan.best = (event.flag & event::kTryIsBest) != 0 ? event.slot : state.plan.best;
}

void revertCandidate(RunState& state, const Event& event, const Run&, std::uint64_t)
{
    --state.plan.tries;
    state.plan.best = event.other;
}

void applySplit(RunState& state, const Event&, const Run&, std::uint64_t) { ++state.plan.cuts; }

void revertSplit(RunState& state, const Event&, const Run&, std::uint64_t) { --state.plan.cuts; }

void applyDrop(RunState& state, const Event&, const Run&, std::uint64_t) { ++state.plan.drops; }

void revertDrop(RunState& state, const Event&, const Run&, std::uint64_t) { --state.plan.drops; }

void applyRebuild(RunState& state, const Event&, const Run&, std::uint64_t) { ++state.plan.rebuilds; }

void revertRebuild(RunState& state, const Event&, const Run&, std::uint64_t) { --state.plan.rebuilds; }

void applyCompute(RunState& state, const Event& event, const Run& run, std::uint64_t)
{
    ++state.plan.computed;
    enter(state, event, run);
}

void revertCompute(RunState& state, const Event& event, const Run& run, std::uint64_t)
{
    leave(state, event, run);
    --state.plan.computed;
}

void applyRecompute(RunState& state, const Event& event, const Run& run, std::uint64_t)
{
    ++state.plan.recomputed;
    if (!isForMoment(event)) {
        enter(state, event, run);
    }
}

void revertRecompute(RunState& state, const Event& event, const Run& run, std::uint64_t)
{
    if (!isForMoment(event)) {
        leave(state, event, run);
    }
    --state.plan.recomputed;
}

void applyFree(RunState& state, const Event& event, const Run& run, std::uint64_t)
{
    ++state.plan.freed;
    leave(state, event, run);
}

void revertFree(RunState& state, const Event& event, const Run& run, std::uint64_t)
{
    enter(state, event, run);
    --state.plan.freed;
}

void applyMove(RunState& state, const Event&, const Run&, std::uint64_t) { ++state.plan.moved; }

void revertMove(RunState& state, const Event&, const Run&, std::uint64_t) { --state.plan.moved; }

void applyFetch(RunState& state, const Event& event, const Run& run, std::uint64_t)
{
    ++state.plan.fetched;
    if (isOfPromise(event)) {
        holdBrought(state, event, run, true);
    } else {
        enter(state, event, run);
    }
}

void revertFetch(RunState& state, const Event& event, const Run& run, std::uint64_t)
{
    if (isOfPromise(event)) {
        holdBrought(state, event, run, false);
    } else {
        leave(state, event, run);
    }
    --state.plan.fetched;
}

} // namespace

const Delta kCandidate{applyCandidate, revertCandidate};
const Delta kSplit{applySplit, revertSplit};
const Delta kDrop{applyDrop, revertDrop};
const Delta kRebuild{applyRebuild, revertRebuild};
const Delta kCompute{applyCompute, revertCompute};
const Delta kRecompute{applyRecompute, revertRecompute};
const Delta kFree{applyFree, revertFree};
const Delta kMove{applyMove, revertMove};
const Delta kFetch{applyFetch, revertFetch};

} // namespace retro::trace::delta
