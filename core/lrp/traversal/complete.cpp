// SPDX-License-Identifier: Apache-2.0
#include "core/base/failure.h"
#include "core/lrp/traversal/traversalstate.h"

#include <utility>

namespace retro::lrp
{

/// Relevance arrives at a promise: it is split and carried down all branches (section 2.4, second half).
void Traversal::Implementation::complete(PromiseId id)
{
    collectRelevance(id);
    split(id);
    const Promise completed = promise(id);
    const BranchIndex endBranch = completed.firstBranch + completed.branchCount;
    for (BranchIndex b = completed.firstBranch; b < endBranch; ++b) {
        carryDown(b);
    }
    promise(id).isComplete = true;
    --m_incompletePromises;
    ++m_completions;
    for (BranchIndex b = completed.firstBranch; b < endBranch; ++b) {
        m_branches[b].completed = m_completions;
    }
    emit(promiseEvent(EventKind::Complete, id));
    releaseArguments(completed);
    for (BranchIndex b = completed.firstBranch; b < endBranch; ++b) {
        settle(b);
    }
    markIfEligible(completed.start);
}

/// The relevance of the promise's start, unless it was there from the beginning.
void Traversal::Implementation::collectRelevance(PromiseId id)
{
    const Promise& ready = promise(id);
    if (ready.firstParent == kNoBranch && !ready.sumsParts) {
        return;
    }
    if (ready.sumsParts && m_followsDocument) {
        sumByArrival(ready.start, id);
    } else if (ready.sumsParts) {
        sumParts(ready.start);
    } else {
        Branch& parent = m_branches[ready.firstParent];
        setRelevance(ready.start, parent.feedsOutput, std::exchange(parent.relevance, HandleId()));
    }
    announceRelevance(id);
}

void Traversal::Implementation::announceRelevance(PromiseId id)
{
    const std::span<const HandleId> arrived = relevanceOf(promise(id).start);
    for (std::uint32_t k = 0; k < arrived.size(); ++k) {
        if (arrived[k].isValid()) {
            event::Event event = promiseEvent(EventKind::PromiseRelevance, id);
            event.slot = k;
            event.handle = arrived[k].value;
            emit(event);
        }
    }
}

void Traversal::Implementation::split(PromiseId id)
{
    const Promise& ready = promise(id);
    if (!ready.splits) {
        const HandleId handle = relevance(ready.start, onlyOutput(ready.start));
        m_arithmetic.retain(handle);
        setBranchRelevance(ready.firstBranch, handle);
        return;
    }
    gatherOperands(ready);
    const std::vector<HandleId> shares = applyRule(ready.start, m_operands, id);
    for (std::uint32_t i = 0; i < ready.branchCount; ++i) {
        const BranchIndex b = ready.firstBranch + i;
        setBranchRelevance(b, shares[m_branches[b].operandSlot]);
    }
}

/// Carries the in-relevance of a branch through the nodes that it crossed, first one first.
void Traversal::Implementation::carryDown(BranchIndex b)
{
    for (NodeId node = m_branches[b].pathFirst; node.isValid(); node = run(node).pathAfter) {
        setRelevance(node, onlyOutput(node), m_branches[b].relevance);
        const std::vector<HandleId> shares = applyRule(node, {}, m_branches[b].promise);
        setBranchRelevance(b, shares[trackedSlot(node)]);
        for (std::uint32_t slot = trackedSlot(node) + 1; slot < shares.size(); ++slot) {
            if (shares[slot].isValid()) {
                m_arithmetic.release(shares[slot]); // of a second tracked operand, which a pass-through cannot have
            }
        }
    }
}

/// Hands the in-relevance of a branch to whoever the branch ended at.
void Traversal::Implementation::settle(BranchIndex b)
{
    Branch& branch = m_branches[b];
    if (branch.endsAtArgNode) {
        const NodeId node = branch.argNode;
        setRelevance(node, onlyOutput(node), std::exchange(branch.relevance, HandleId()));
        if (run(node).waitsFor == b && isLeaf(node) && !run(node).prePromise.isValid() && !m_followsDocument) {
            stopWaiting(node);
        }
        markIfEligible(node);
    }
    if (branch.feeds.isValid()) {
        --promise(branch.feeds).pendingParents;
        markIfEligible(promise(branch.feeds).start);
    }
}

void Traversal::Implementation::releaseArguments(const Promise& completed)
{
    for (std::uint32_t i = 0; i < completed.branchCount; ++i) {
        HandleId& argument = m_branches[completed.firstBranch + i].argument;
        if (argument.isValid()) {
            m_arithmetic.release(std::exchange(argument, HandleId()));
        }
    }
}

/// Takes over the reference; the reference to the relevance before has already found another owner.
void Traversal::Implementation::setBranchRelevance(BranchIndex b, HandleId handle)
{
    if (!handle.isValid()) {
        return; // an operand that carries no relevance
    }
    event::Event event = branchEvent(EventKind::BranchRelevance, b);
    event.handle = handle.value;
    event.extra = m_branches[b].relevance.value;
    emit(event);
    m_branches[b].relevance = handle;
}

/// The relevance of an output is known in full. Takes over the reference. A node and the promise that started at it
/// learn the same relevance, so the second time changes nothing.
void Traversal::Implementation::setRelevance(NodeId node, std::uint32_t k, HandleId handle)
{
    HandleId& known = m_relevance[m_firstOutput[node.index()] + k];
    if (known.isValid()) {
        base::guard(known == handle, "an output has one final relevance");
        m_arithmetic.release(handle);
        return;
    }
    known = handle;
    if (!run(node).isKnown) {
        run(node).isKnown = true;
        --m_unknownNodes;
    }
    event::Event event = nodeEvent(EventKind::Relevance, node);
    event.slot = k;
    event.handle = handle.value;
    emit(event);
    if (m_checkpoints[m_firstOutput[node.index()] + k] != 0) {
        --m_openCheckpoints;
        event.kind = EventKind::Snapshot;
        emit(event);
    }
}

} // namespace retro::lrp
