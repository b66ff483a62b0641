// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/trace/runstate.h"

#include <array>

namespace retro::trace::delta
{

/// One half of a state change.
using Half = void (*)(RunState& state, const Event& event, const Run& run, std::uint64_t step);

/// A state change and its inverse.
struct Delta
{
    Half apply;
    Half revert;
};

using event::kEventKindCount;

/// The delta of every kind of event, by EventKind, as core/event/event.h documents it.
extern const std::array<Delta, kEventKindCount> kDeltas;

// Picks and collections.
extern const Delta kVisit;
extern const Delta kPush;
extern const Delta kPop;
extern const Delta kEnqueue;
extern const Delta kDequeue;
extern const Delta kFinished;
// What happens at a node.
extern const Delta kLand;
extern const Delta kTake;
extern const Delta kWait;
extern const Delta kResume;
extern const Delta kRelevance;
extern const Delta kRule;
// What happens to a promise.
extern const Delta kNewPromise;
extern const Delta kAddParent;
extern const Delta kRecord;
extern const Delta kAddChild;
extern const Delta kArgNode;
extern const Delta kArg;
extern const Delta kReady;
extern const Delta kOpen;
extern const Delta kComplete;
extern const Delta kPromiseRelevance;
extern const Delta kBranchRelevance;
// Planners and plans.
extern const Delta kCandidate;
extern const Delta kSplit;
extern const Delta kDrop;
extern const Delta kRebuild;
extern const Delta kCompute;
extern const Delta kRecompute;
extern const Delta kFree;
extern const Delta kMove;
extern const Delta kFetch;
/// Join, Snapshot, Launch and Buffer tell what happened and change nothing.
extern const Delta kNothing;

/// Books that a tensor lies in `landed` more in-edge slots and that promises hold it `held` times more, `arguments` of
/// these as arguments; keeps the frontier counts. Invalid handles count nowhere.
void countUse(RunState& state, const Run& run, HandleId handle, int landed, int held, int arguments = 0);

/// Books that a branch holds its argument, or no longer (BranchState::holdsArgument).
void hold(BranchState& branch, bool isHeld, RunState& state, const Run& run);

/// True of a Fetch that brings the argument of a branch, which the plan had dropped.
[[nodiscard]] bool bringsArgument(const RunState& state, const Event& event);

/// Changes a branch and keeps the frontier counts: its in-relevance counts while BranchState::holdsRelevance().
template <class Change>
void editBranch(RunState& state, const Run& run, BranchRef at, Change&& change)
{
    BranchState& branch = state.promises.edit(at.promise.index()).branches[at.branch];
    const HandleId before = branch.holdsRelevance() ? branch.relevance : HandleId();
    change(branch);
    const HandleId after = branch.holdsRelevance() ? branch.relevance : HandleId();
    if (before != after) {
        countUse(state, run, before, 0, -1);
        countUse(state, run, after, 0, 1);
    }
}

/// The node of an event.
[[nodiscard]] inline NodeId nodeOf(const Event& event) { return NodeId(event.node); }
/// The tensor of an event.
[[nodiscard]] inline HandleId handleOf(const Event& event) { return HandleId(event.handle); }
/// The branch that promise and branch name.
[[nodiscard]] inline BranchRef branchOf(const Event& event) { return {PromiseId(event.promise), event.branch}; }
/// The branch that other and branch2 name.
[[nodiscard]] inline BranchRef otherBranchOf(const Event& event) { return {PromiseId(event.other), event.branch2}; }
/// The id that extra carries: what was there before.
template <class Id>
[[nodiscard]] Id idBefore(const Event& event)
{
    return Id(static_cast<std::uint32_t>(event.extra));
}

} // namespace retro::trace::delta
