// SPDX-License-Identifier: Apache-2.0
// What happens at a node: parts land and are taken, it waits and resumes, its relevance is known, its rule is applied.
#include "core/trace/delta/deltas.h"

#include <algorithm>

namespace retro::trace::delta
{

namespace
{

bool isBranch(const Event& event) { return event.promise != PromiseId::kInvalid; }

Part partOf(const Event& event)
{
    return isBranch(event) ? Part{HandleId(), branchOf(event)} : Part{handleOf(event), BranchRef()};
}

/// Puts the part of a Land or Take into its slot, or takes it out.
void fillSlot(RunState& state, const Event& event, const Run& run)
{
    state.nodes.edit(event.node).parts[event.slot] = partOf(event);
    if (isBranch(event)) {
        editBranch(state, run, branchOf(event), [](BranchState& branch) { ++branch.inSlots; });
    } else {
        countUse(state, run, handleOf(event), 1, 0);
    }
}

void clearSlot(RunState& state, const Event& event, const Run& run)
{
    state.nodes.edit(event.node).parts[event.slot] = Part();
    if (isBranch(event)) {
        editBranch(state, run, branchOf(event), [](BranchState& branch) { --branch.inSlots; });
    } else {
        countUse(state, run, handleOf(event), -1, 0);
    }
}

void applyLand(RunState& state, const Event& event, const Run& run, std::uint64_t)
{
    NodeState& node = state.nodes.edit(event.node);
    if (node.landed == 0) {
        node.missing = static_cast<std::uint32_t>(event.extra);
        node.parts.resize(node.missing);
    }
    ++node.landed;
    --node.missing;
    fillSlot(state, event, run);
}

void revertLand(RunState& state, const Event& event, const Run& run, std::uint64_t)
{
    clearSlot(state, event, run);
    NodeState& node = state.nodes.edit(event.node);
    --node.landed;
    ++node.missing;
    if (node.landed == 0) {
        node.parts.clear();
    }
}

void applyTake(RunState& state, const Event& event, const Run& run, std::uint64_t) { clearSlot(state, event, run); }

void revertTake(RunState& state, const Event& event, const Run& run, std::uint64_t) { fillSlot(state, event, run); }

/// A leaf that ended inside a promise reads its relevance from the branch: that is a result, nobody takes it.
bool isLeaf(const Event& event, const Run& run) { return run.graph->isInput(nodeOf(event)); }

void startWaiting(RunState& state, const Event& event, const Run& run, std::uint64_t)
{
    state.nodes.edit(event.node).waitsFor = branchOf(event);
    if (!isLeaf(event, run)) {
        editBranch(state, run, branchOf(event), [](BranchState& branch) { branch.isAwaited = true; });
    }
}

void stopWaiting(RunState& state, const Event& event, const Run& run, std::uint64_t)
{
    state.nodes.edit(event.node).waitsFor = BranchRef();
    if (!isLeaf(event, run)) {
        editBranch(state, run, branchOf(event), [](BranchState& branch) { branch.isAwaited = false; });
    }
}

void applyRelevance(RunState& state, const Event& event, const Run& run, std::uint64_t)
{
    NodeState& node = state.nodes.edit(event.node);
    if (node.relevance.empty()) {
        node.relevance.resize(run.graph->outputsOf(nodeOf(event)).size());
    }
    node.relevance[event.slot] = handleOf(event);
}

void revertRelevance(RunState& state, const Event& event, const Run&, std::uint64_t)
{
    std::vector<HandleId>& relevance = state.nodes.edit(event.node).relevance;
    relevance[event.slot] = HandleId();
    if (std::none_of(relevance.begin(), relevance.end(), [](HandleId h) { return h.isValid(); })) {
        relevance.clear();
    }
}

void applyRule(RunState& state, const Event& event, const Run&, std::uint64_t)
{
    state.nodes.edit(event.node).ruleApplied = true;
    ++state.ledgerRows;
}

void revertRule(RunState& state, const Event& event, const Run&, std::uint64_t)
{
    state.nodes.edit(event.node).ruleApplied = false;
    --state.ledgerRows;
}

} // namespace

const Delta kLand{applyLand, revertLand};
const Delta kTake{applyTake, revertTake};
const Delta kWait{startWaiting, stopWaiting};
const Delta kResume{stopWaiting, startWaiting};
const Delta kRelevance{applyRelevance, revertRelevance};
const Delta kRule{applyRule, revertRule};

} // namespace retro::trace::delta
