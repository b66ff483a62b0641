// SPDX-License-Identifier: Apache-2.0
#include "core/base/failure.h"
#include "core/lrp/traversal/traversalstate.h"

#include <algorithm>
#include <utility>

namespace retro::lrp
{

Merged Traversal::Implementation::merge(const Pick& picked)
{
    switch (picked.mode) {
    case Mode::Fulfilment:
        run(picked.node).isDone = true;
        stopWaiting(picked.node);
        return {Merged::What::Relevance, kNoBranch};
    case Mode::Search:
        return {Merged::What::Branch, beginSearch(picked.node)};
    case Mode::Normal:
    case Mode::None:
        break;
    }
    if (m_followsDocument && isFulfilled(picked.node)) { // a tail off the normal stack
        run(picked.node).isDone = true;
        stopWaiting(picked.node);
        return {Merged::What::Relevance, kNoBranch};
    }
    if (run(picked.node).prePromise.isValid()) {
        return fanIn(picked.node);
    }
    run(picked.node).isDone = true;
    return mergeParts(picked.node);
}

/// A search enters a node whose inputs have not all landed: a Pre-Promise goes on in their stead. Its parents do not
/// list it as their child before the fan-in.
BranchIndex Traversal::Implementation::beginSearch(NodeId node)
{
    const PromiseId id = newPromise(PromiseKind::Pre, node, false, searchesOperands(node));
    promise(id).sumsParts = true;
    run(node).prePromise = id;
    const std::size_t slots = m_graph.inEdges(node).size();
    for (std::uint32_t slot = 0; slot < slots; ++slot) {
        if (const BranchIndex b = part(node, slot).branch; isPending(b)) {
            addParent(id, b, slot);
        }
    }
    return promise(id).firstBranch;
}

/// Second (or third) visit of a node that was searched: all inputs have landed.
Merged Traversal::Implementation::fanIn(NodeId node)
{
    const PromiseId id = run(node).prePromise;
    if (!promise(id).isOpen) {
        open(id);
    }
    request(id);
    if (!promise(id).isComplete) {
        if (!m_queue.contains(node)) {
            enqueue(node);
        }
        return {};
    }
    run(node).isDone = true;
    if (m_followsDocument) {
        pushTails(id);
    }
    const BranchIndex waitsFor = run(node).waitsFor;
    if (waitsFor == kNoBranch || m_branches[waitsFor].promise != id) {
        return {}; // the search ended elsewhere: that node goes on
    }
    if (m_queue.contains(node)) { // it came off the normal stack
        leaveQueue(node);
    }
    stopWaiting(node);
    return {Merged::What::Relevance, kNoBranch};
}

void Traversal::Implementation::open(PromiseId id)
{
    const NodeId node = promise(id).start;
    const std::size_t slots = m_graph.inEdges(node).size();
    for (std::uint32_t slot = 0; slot < slots; ++slot) {
        const BranchIndex b = part(node, slot).branch;
        if (b != kNoBranch && m_branches[b].feeds != id) {
            addParent(id, b, slot);
        }
    }
    for (BranchIndex b = promise(id).firstParent; b != kNoBranch; b = m_branches[b].nextParent) {
        addChild(b);
    }
    promise(id).isOpen = true;
    event::Event event = promiseEvent(EventKind::Open, id);
    event.node = node.value;
    event.extra = promise(id).parentCount;
    emit(event);
}

Merged Traversal::Implementation::mergeParts(NodeId node)
{
    const std::size_t slots = m_graph.inEdges(node).size();
    bool anyPending = false;
    for (std::uint32_t slot = 0; slot < slots; ++slot) {
        anyPending = anyPending || isPending(part(node, slot).branch);
    }
    if (!anyPending) {
        sumParts(node);
        return {Merged::What::Relevance, kNoBranch};
    }
    if (slots == 1 && !searchesOperands(node)) {
        return {Merged::What::Branch, take(node, 0).branch}; // the chain just grows
    }
    return {Merged::What::Branch, aggregate(node)};
}

/// One promise for all that landed; at a node with several outputs it is that node's own promise.
BranchIndex Traversal::Implementation::aggregate(NodeId node)
{
    const bool splits = searchesOperands(node);
    const PromiseKind kind = splits ? m_arithmetic.promiseKind(node) : PromiseKind::Aggregate;
    const PromiseId id = newPromise(kind, node, true, splits);
    promise(id).sumsParts = true;
    const std::size_t slots = m_graph.inEdges(node).size();
    for (std::uint32_t slot = 0; slot < slots; ++slot) {
        if (const BranchIndex b = part(node, slot).branch; isPending(b)) {
            addParent(id, b, slot);
            addChild(b);
        }
    }
    if (m_followsDocument) {
        landBase(node, id);
    }
    return promise(id).firstBranch;
}

/// Takes all parts of a node and makes their sums, per output and in in-edge order, the node's relevance: the order of
/// arrival leaves no trace in the bits.
void Traversal::Implementation::sumParts(NodeId node)
{
    m_gathered.resize(std::max(m_gathered.size(), m_graph.outputCount(node)));
    const std::size_t slots = m_graph.inEdges(node).size();
    for (std::uint32_t slot = 0; slot < slots; ++slot) {
        gatherPart(node, slot);
    }
    sumGathered(node);
}

/// The sums of what was gathered per output are the node's relevance.
void Traversal::Implementation::sumGathered(NodeId node)
{
    for (std::uint32_t k = 0; k < m_graph.outputCount(node); ++k) {
        if (m_gathered[k].empty()) {
            continue;
        }
        const HandleId sum = m_arithmetic.sum(node, k, m_gathered[k]);
        for (const HandleId handle : m_gathered[k]) {
            m_arithmetic.release(handle);
        }
        m_gathered[k].clear();
        setRelevance(node, k, sum);
    }
}

void Traversal::Implementation::gatherPart(NodeId node, std::uint32_t slot)
{
    const Part landed = take(node, slot);
    HandleId handle = landed.tensor;
    if (landed.branch != kNoBranch) {
        handle = std::exchange(m_branches[landed.branch].relevance, HandleId());
    }
    base::guard(handle.isValid(), "a part that landed has its relevance");
    m_gathered[m_graph.inEdges(node)[slot].output].push_back(handle);
}

Part Traversal::Implementation::take(NodeId node, std::uint32_t slot)
{
    const Part landed = std::exchange(part(node, slot), Part());
    base::guard(!landed.isEmpty(), "a part that is taken has landed");
    emit(partEvent(EventKind::Take, node, slot, landed));
    return landed;
}

void Traversal::Implementation::stopWaiting(NodeId node)
{
    const BranchIndex b = std::exchange(run(node).waitsFor, kNoBranch);
    event::Event event = branchEvent(EventKind::Resume, b);
    event.node = node.value;
    emit(event);
}

} // namespace retro::lrp
