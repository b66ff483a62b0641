// SPDX-License-Identifier: Apache-2.0
#include "core/trace/delta/consistency.h"

#include <algorithm>

namespace retro::trace::delta
{

const char* checkNewPromise(const Context& at)
{
    if (!at.hasNode()) {
        return kNoSuchNode;
    }
    if (at.event.promise != at.state.promises.size()) {
        return "promises are not numbered in order";
    }
    if (!at.isOneOf(at.event.extra, static_cast<std::int64_t>(event::PromiseKind::Operator) + 1)) {
        return "there is no such kind of promise";
    }
    const NodeId start(at.event.node);
    const std::size_t operands = at.run.graph->isInput(start) ? 0 : at.run.graph->node(start).inputs.size();
    const bool isCount = at.event.slot >= 1 && at.event.slot <= std::max<std::size_t>(operands, 1);
    return isCount ? nullptr : "a promise cannot have that many branches at this node";
}

const char* checkAddParent(const Context& at)
{
    if (!at.hasPromise() || !at.hasOtherBranch() || at.event.promise == at.event.other) {
        return kNoSuchPromise;
    }
    const PromiseState& promise = at.promise();
    if (promise.isComplete) {
        return "the promise is complete already";
    }
    if (!at.isOneOf(at.event.extra, static_cast<std::int64_t>(at.outputCount(promise.start))) ||
        at.event.slot >= at.mostInEdges(promise.start)) {
        return "the node of the promise has no such output or in-edge";
    }
    return nullptr;
}

const char* checkRecord(const Context& at)
{
    if (!at.hasNode()) {
        return kNoSuchNode;
    }
    return at.hasBranch() ? nullptr : kNoSuchPromise;
}

const char* checkAddChild(const Context& at)
{
    return at.hasBranch() && at.event.other < at.state.promises.size() ? nullptr : kNoSuchPromise;
}

const char* checkArgNode(const Context& at)
{
    if (!at.hasNode()) {
        return kNoSuchNode;
    }
    if (!at.hasBranch()) {
        return kNoSuchPromise;
    }
    return at.event.extra == std::int64_t{at.branch().argNode.value} ? nullptr : kOtherBefore;
}

const char* checkArg(const Context& at)
{
    if (at.event.node != NodeId::kInvalid && !at.hasNode()) {
        return kNoSuchNode;
    }
    if (!at.hasBranch()) {
        return kNoSuchPromise;
    }
    if (!at.hasHandle()) {
        return kNoSuchHandle;
    }
    return !at.branch().argument.isValid() && !at.promise().isReady ? nullptr : "that argument is there already";
}

const char* checkReady(const Context& at)
{
    if (!at.hasPromise()) {
        return kNoSuchPromise;
    }
    const PromiseState& promise = at.promise();
    const bool isWhole = std::all_of(promise.branches.begin(), promise.branches.end(),
                                     [](const BranchState& branch) { return branch.argument.isValid(); });
    return isWhole && !promise.isReady ? nullptr : "the promise lacks arguments, or is ready already";
}

const char* checkJoin(const Context& at)
{
    if (!at.hasNode()) {
        return kNoSuchNode;
    }
    return at.hasPromise() && at.hasOtherBranch() ? nullptr : kNoSuchPromise;
}

const char* checkOpen(const Context& at)
{
    if (!at.hasPromise()) {
        return kNoSuchPromise;
    }
    return at.promise().isOpen ? "the promise is open already" : nullptr;
}

const char* checkComplete(const Context& at)
{
    if (!at.hasPromise()) {
        return kNoSuchPromise;
    }
    const PromiseState& promise = at.promise();
    const bool canComplete = promise.isReady && promise.isOpen && !promise.isComplete;
    return canComplete ? nullptr : "the promise is not ready, not open, or complete already";
}

const char* checkPromiseRelevance(const Context& at)
{
    if (!at.hasPromise()) {
        return kNoSuchPromise;
    }
    if (!at.hasHandle()) {
        return kNoSuchHandle;
    }
    const std::vector<HandleId>& relevance = at.promise().relevance;
    const bool isFree = at.event.slot < relevance.size() && !relevance[at.event.slot].isValid();
    return isFree ? nullptr : "the promise has no such output, or its relevance is there already";
}

const char* checkBranchRelevance(const Context& at)
{
    if (!at.hasBranch()) {
        return kNoSuchPromise;
    }
    if (!at.hasHandle()) {
        return kNoSuchHandle;
    }
    return at.event.extra == std::int64_t{at.branch().relevance.value} ? nullptr : kOtherBefore;
}

} // namespace retro::trace::delta
