// SPDX-License-Identifier: Apache-2.0
// What happens to a promise (docs/traversal.md, sections 1.3 and 2.4).
#include "core/trace/delta/deltas.h"

namespace retro::trace::delta
{

namespace
{

PromiseState& promiseOf(RunState& state, const Event& event) { return state.promises.edit(event.promise); }

BranchState& branchIn(RunState& state, const Event& event) { return promiseOf(state, event).branches[event.branch]; }

void applyNewPromise(RunState& state, const Event& event, const Run& run, std::uint64_t step)
{
    PromiseState promise;
    promise.kind = static_cast<event::PromiseKind>(event.extra);
    promise.start = nodeOf(event);
    promise.openedAt = step;
    promise.isOpen = event.flag == 1;
    promise.relevance.resize(run.graph->outputsOf(promise.start).size());
    promise.branches.resize(event.slot);
    state.promises.push_back(std::move(promise));
}

void revertNewPromise(RunState& state, const Event&, const Run&, std::uint64_t) { state.promises.pop_back(); }

void applyAddParent(RunState& state, const Event& event, const Run& run, std::uint64_t)
{
    promiseOf(state, event)
        .parents.push_back({otherBranchOf(event), event.slot, static_cast<std::uint32_t>(event.extra)});
    editBranch(state, run, otherBranchOf(event), [](BranchState& branch) { ++branch.feeds; });
}

void revertAddParent(RunState& state, const Event& event, const Run& run, std::uint64_t)
{
    editBranch(state, run, otherBranchOf(event), [](BranchState& branch) { --branch.feeds; });
    promiseOf(state, event).parents.pop_back();
}

void applyRecord(RunState& state, const Event& event, const Run&, std::uint64_t)
{
    branchIn(state, event).path.push_back(nodeOf(event));
}

void revertRecord(RunState& state, const Event& event, const Run&, std::uint64_t)
{
    branchIn(state, event).path.pop_back();
}

void applyAddChild(RunState& state, const Event& event, const Run&, std::uint64_t)
{
    branchIn(state, event).children.push_back(PromiseId(event.other));
}

void revertAddChild(RunState& state, const Event& event, const Run&, std::uint64_t)
{
    branchIn(state, event).children.pop_back();
}

void applyArgNode(RunState& state, const Event& event, const Run&, std::uint64_t)
{
    branchIn(state, event).argNode = nodeOf(event);
}

void revertArgNode(RunState& state, const Event& event, const Run&, std::uint64_t)
{
    branchIn(state, event).argNode = idBefore<NodeId>(event);
}

/// An argument for which nobody searched, and which no child promise answered, is of an operand without relevance.
void applyArg(RunState& state, const Event& event, const Run& run, std::uint64_t)
{
    BranchState& branch = branchIn(state, event);
    branch.argument = handleOf(event);
    branch.argumentFoundAt = nodeOf(event);
    const bool isSearched = branch.argNode.isValid() || branch.argumentFoundAt.isValid() || !branch.children.empty();
    hold(branch, isSearched && !state.isByPlan, state, run);
}

void revertArg(RunState& state, const Event& event, const Run& run, std::uint64_t)
{
    BranchState& branch = branchIn(state, event);
    hold(branch, false, state, run);
    branch.argument = HandleId();
    branch.argumentFoundAt = NodeId();
}

void applyReady(RunState& state, const Event& event, const Run&, std::uint64_t)
{
    promiseOf(state, event).isReady = true;
}

void revertReady(RunState& state, const Event& event, const Run&, std::uint64_t)
{
    promiseOf(state, event).isReady = false;
}

void applyOpen(RunState& state, const Event& event, const Run&, std::uint64_t)
{
    promiseOf(state, event).isOpen = true;
}

void revertOpen(RunState& state, const Event& event, const Run&, std::uint64_t)
{
    promiseOf(state, event).isOpen = false;
}

/// Books the arguments and the collected relevance of a promise as held (+1) or let go (−1).
void countHeld(RunState& state, const Run& run, const PromiseState& promise, int held)
{
    for (const BranchState& branch : promise.branches) {
        if (branch.holdsArgument) {
            countUse(state, run, branch.argument, 0, held, held);
        }
    }
    for (const HandleId relevance : promise.relevance) {
        countUse(state, run, relevance, 0, held);
    }
}

void applyComplete(RunState& state, const Event& event, const Run& run, std::uint64_t step)
{
    PromiseState& promise = promiseOf(state, event);
    promise.isComplete = true;
    promise.completedAt = step;
    countHeld(state, run, promise, -1);
    for (const ParentState& parent : promise.parents) {
        editBranch(state, run, parent.branch, [](BranchState& branch) { --branch.feeds; });
    }
}

void revertComplete(RunState& state, const Event& event, const Run& run, std::uint64_t)
{
    PromiseState& promise = promiseOf(state, event);
    promise.isComplete = false;
    promise.completedAt = 0;
    countHeld(state, run, promise, 1);
    for (const ParentState& parent : promise.parents) {
        editBranch(state, run, parent.branch, [](BranchState& branch) { ++branch.feeds; });
    }
}

/// Sets the relevance of an output of the start; a complete promise holds nothing any more.
void setPromiseRelevance(RunState& state, const Event& event, const Run& run, HandleId handle)
{
    PromiseState& promise = promiseOf(state, event);
    HandleId& relevance = promise.relevance[event.slot];
    if (!promise.isComplete) {
        countUse(state, run, relevance, 0, -1);
        countUse(state, run, handle, 0, 1);
    }
    relevance = handle;
}

void applyPromiseRelevance(RunState& state, const Event& event, const Run& run, std::uint64_t)
{
    setPromiseRelevance(state, event, run, handleOf(event));
}

void revertPromiseRelevance(RunState& state, const Event& event, const Run& run, std::uint64_t)
{
    setPromiseRelevance(state, event, run, HandleId());
}

void applyBranchRelevance(RunState& state, const Event& event, const Run& run, std::uint64_t)
{
    editBranch(state, run, branchOf(event), [&](BranchState& branch) { branch.relevance = handleOf(event); });
}

void revertBranchRelevance(RunState& state, const Event& event, const Run& run, std::uint64_t)
{
    editBranch(state, run, branchOf(event), [&](BranchState& branch) { branch.relevance = idBefore<HandleId>(event); });
}

void nothing(RunState&, const Event&, const Run&, std::uint64_t) {}

} // namespace

const Delta kNewPromise{applyNewPromise, revertNewPromise};
const Delta kAddParent{applyAddParent, revertAddParent};
const Delta kRecord{applyRecord, revertRecord};
const Delta kAddChild{applyAddChild, revertAddChild};
const Delta kArgNode{applyArgNode, revertArgNode};
const Delta kArg{applyArg, revertArg};
const Delta kReady{applyReady, revertReady};
const Delta kOpen{applyOpen, revertOpen};
const Delta kComplete{applyComplete, revertComplete};
const Delta kPromiseRelevance{applyPromiseRelevance, revertPromiseRelevance};
const Delta kBranchRelevance{applyBranchRelevance, revertBranchRelevance};
const Delta kNothing{nothing, nothing};

} // namespace retro::trace::delta
