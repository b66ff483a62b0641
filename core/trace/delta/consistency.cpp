// SPDX-License-Identifier: Apache-2.0
#include "core/trace/delta/consistency.h"

#include "core/trace/delta/deltas.h"

namespace retro::trace::delta
{

std::size_t Context::mostInEdges(NodeId id) const
{
    std::size_t count = 0;
    for (const base::ValueId output : run.graph->outputsOf(id)) {
        count += 1 + (output.isValid() ? run.graph->uses(output).size() : 0);
    }
    return count;
}

namespace
{

const char* checkVisit(const Context& at)
{
    if (!at.hasNode()) {
        return kNoSuchNode;
    }
    const std::uint32_t expected = at.state.current.isValid() ? at.state.visit + 1 : 0;
    if (at.event.visit != expected) {
        return "visits are not numbered in order";
    }
    const bool isBefore = at.event.extra == static_cast<std::int64_t>(at.node().lastMode) &&
                          at.event.other == at.state.current.value && at.event.mode <= event::Mode::Fulfilment;
    return isBefore ? nullptr : kOtherBefore;
}

const char* checkPush(const Context& at)
{
    if (!at.hasNode()) {
        return kNoSuchNode;
    }
    return at.isOneOf(at.event.extra, 2) ? nullptr : "it names a stack that does not exist";
}

const char* checkPop(const Context& at)
{
    if (!at.isOneOf(at.event.extra, 2)) {
        return "it names a stack that does not exist";
    }
    const std::vector<NodeId>& stack = at.event.extra == 0 ? at.state.normalStack : at.state.searchStack;
    const bool isTop = !stack.empty() && stack.back().value == at.event.node;
    return isTop ? nullptr : "another node lies on top of the stack";
}

const char* checkEnqueue(const Context& at) { return at.hasNode() ? nullptr : kNoSuchNode; }

const char* checkDequeue(const Context& at)
{
    const std::vector<NodeId>& queue = at.state.queue;
    const bool isThere = at.isOneOf(at.event.extra, static_cast<std::int64_t>(queue.size())) &&
                         queue[static_cast<std::size_t>(at.event.extra)].value == at.event.node;
    return isThere ? nullptr : "another node stands at that place of the promise queue";
}

/// The part exists: a branch, or a tensor.
const char* checkPart(const Context& at)
{
    if (!at.hasNode()) {
        return kNoSuchNode;
    }
    if (at.event.promise != PromiseId::kInvalid) {
        return at.hasBranch() ? nullptr : kNoSuchPromise;
    }
    return at.hasHandle() ? nullptr : kNoSuchHandle;
}

const char* checkLand(const Context& at)
{
    if (const char* reason = checkPart(at)) {
        return reason;
    }
    const auto most = static_cast<std::int64_t>(at.mostInEdges(NodeId(at.event.node)));
    if (at.event.extra > most || !at.isOneOf(at.event.slot, at.event.extra)) {
        return "the node has no such in-edge";
    }
    const NodeState& node = at.node();
    if (node.landed == 0) {
        return nullptr;
    }
    if (node.parts.size() != static_cast<std::size_t>(at.event.extra)) {
        return "the node had another number of in-edges before";
    }
    return node.missing > 0 && node.parts[at.event.slot].isEmpty() ? nullptr : "something has landed there already";
}

const char* checkTake(const Context& at)
{
    if (const char* reason = checkPart(at)) {
        return reason;
    }
    const NodeState& node = at.node();
    if (at.event.slot >= node.parts.size()) {
        return "the node has no such in-edge";
    }
    const Part& part = node.parts[at.event.slot];
    const bool isSame =
        at.event.promise != PromiseId::kInvalid ? part.branch == branchOf(at.event) : part.handle == handleOf(at.event);
    return isSame ? nullptr : "another part lies in that in-edge";
}

const char* checkWait(const Context& at)
{
    if (!at.hasNode()) {
        return kNoSuchNode;
    }
    if (!at.hasBranch()) {
        return kNoSuchPromise;
    }
    const bool isFree = !at.node().waitsFor.promise.isValid() && !at.branch().isAwaited;
    return isFree ? nullptr : "the node waits already, or another node waits for that branch";
}

const char* checkResume(const Context& at)
{
    if (!at.hasNode()) {
        return kNoSuchNode;
    }
    if (!at.hasBranch()) {
        return kNoSuchPromise;
    }
    return at.node().waitsFor == branchOf(at.event) ? nullptr : "the node does not wait for that branch";
}

const char* checkRelevance(const Context& at)
{
    if (!at.hasNode()) {
        return kNoSuchNode;
    }
    if (!at.hasHandle()) {
        return kNoSuchHandle;
    }
    if (at.event.slot >= at.outputCount(NodeId(at.event.node))) {
        return "the node has no such output";
    }
    const std::vector<HandleId>& known = at.node().relevance;
    return known.empty() || !known[at.event.slot].isValid() ? nullptr : "the relevance of that output is known already";
}

const char* checkRule(const Context& at)
{
    if (!at.hasNode() || at.run.graph->isInput(NodeId(at.event.node))) {
        return kNoSuchNode;
    }
    if (at.node().ruleApplied) {
        return "the rule of that node was applied already";
    }
    const bool isAudited = !at.run.ledger.empty();
    if (at.event.extra != at.state.ledgerRows || (isAudited && at.state.ledgerRows >= at.run.ledger.size())) {
        return "its row of the ledger is not the next one";
    }
    return nullptr;
}

const char* checkSnapshot(const Context& at)
{
    if (!at.hasNode()) {
        return kNoSuchNode;
    }
    return at.hasHandle() ? nullptr : kNoSuchHandle;
}

const char* checkFinished(const Context&) { return nullptr; }

const char* checkLaunch(const Context& at)
{
    return at.hasNode() && !at.run.graph->isInput(NodeId(at.event.node)) ? nullptr : kNoSuchNode;
}

const char* checkBuffer(const Context& at)
{
    if (const char* wrong = checkLaunch(at)) {
        return wrong;
    }
    return at.event.handle == HandleId::kInvalid || at.hasHandle() ? nullptr : kNoSuchHandle;
}

using Check = const char* (*)(const Context&);
constexpr std::array<Check, kEventKindCount> kChecks{checkVisit,
                                                     checkPush,
                                                     checkPop,
                                                     checkEnqueue,
                                                     checkDequeue,
                                                     checkLand,
                                                     checkTake,
                                                     checkNewPromise,
                                                     checkAddParent,
                                                     checkRecord,
                                                     checkAddChild,
                                                     checkArgNode,
                                                     checkArg,
                                                     checkReady,
                                                     checkJoin,
                                                     checkOpen,
                                                     checkComplete,
                                                     checkPromiseRelevance,
                                                     checkBranchRelevance,
                                                     checkWait,
                                                     checkResume,
                                                     checkRelevance,
                                                     checkRule,
                                                     checkSnapshot,
                                                     checkFinished,
                                                     checkLaunch,
                                                     checkCandidate,
                                                     checkSplit,
                                                     checkDrop,
                                                     checkRebuild,
                                                     checkCompute,
                                                     checkRecompute,
                                                     checkFree,
                                                     checkMove,
                                                     checkFetch,
                                                     checkBuffer};

} // namespace

const char* contradiction(const Event& event, const RunState& state, const Run& run)
{
    const auto kind = static_cast<std::size_t>(event.kind);
    if (kind >= kEventKindCount) {
        return "there is no such kind of event";
    }
    if (state.isFinished) {
        return "it comes after the end of the run";
    }
    return kChecks[kind]({event, state, run});
}

} // namespace retro::trace::delta
