// SPDX-License-Identifier: Apache-2.0
// Where the traversal by the document takes other steps (docs/traversal.md, section 6).
#include "core/base/failure.h"
#include "core/lrp/traversal/traversalstate.h"

#include <algorithm>
#include <utility>

namespace retro::lrp
{

/// Nothing can be picked: the branch that has waited longest to be linked to a Pre-Promise is linked. False when there
/// is none.
bool Traversal::Implementation::rescue()
{
    while (m_nextUnlinked < m_unlinked.size()) {
        const Unlinked oldest = m_unlinked[m_nextUnlinked++];
        const PromiseId id = run(oldest.node).prePromise;
        if (m_branches[oldest.branch].feeds.isValid() || !isPending(oldest.branch) || promise(id).isOpen) {
            continue; // linked by the second visit
        }
        event::Event event = promiseEvent(EventKind::Join, id);
        event.node = oldest.node.value;
        event.other = m_branches[oldest.branch].promise.value;
        event.branch2 = oldest.branch - promise(m_branches[oldest.branch].promise).firstBranch;
        event.flag = 1;
        emit(event);
        ++m_counts.rescues;
        addParent(id, oldest.branch, oldest.inEdge);
        request(id);
        return true;
    }
    return false;
}

/// Drops entries of the normal stack at which nothing is left to do.
void Traversal::Implementation::skipDone()
{
    while (m_followsDocument && !m_normal.empty()) {
        const NodeId top = m_normal.back();
        if (!run(top).isDone || run(top).waitsFor != kNoBranch) {
            return;
        }
        m_normal.pop_back();
        run(top).onNormal = false;
        event::Event event = nodeEvent(EventKind::Pop, top);
        event.flag = 1;
        emit(event);
    }
}

/// What follows for a child right after something landed in one of its slots.
void Traversal::Implementation::examine(NodeId child, std::uint32_t slot)
{
    NodeRun& reached = run(child);
    const BranchIndex b = m_outs[slot].branch;
    reached.isSearched = reached.isSearched || b != kNoBranch;
    if (reached.prePromise.isValid() && isPending(b)) {
        m_unlinked.push_back({b, child, m_graph.children(m_current)[slot].inEdge});
    }
    if (reached.missing == 0) {
        markIfEligible(child);
        if (!reached.onNormal) {
            pushNormal(child);
        }
        return;
    }
    const std::size_t slots = reached.isSearched ? m_graph.inEdges(child).size() : 0;
    bool anyPending = false;
    for (std::uint32_t i = 0; i < slots && !anyPending; ++i) {
        anyPending = isPending(part(child, i).branch);
    }
    if (anyPending && !reached.prePromise.isValid()) {
        pushSearch(child);
    }
}

/// An Aggregate begins with the sum of the tensors that have landed; complete promises count as tensors.
void Traversal::Implementation::landBase(NodeId node, PromiseId id)
{
    m_gathered.resize(std::max(m_gathered.size(), m_graph.outputCount(node)));
    const std::size_t slots = m_graph.inEdges(node).size();
    for (std::uint32_t slot = 0; slot < slots; ++slot) {
        if (!isPending(part(node, slot).branch)) {
            gatherPart(node, slot);
        }
    }
    std::vector<Part>& base = m_bases[id.value];
    base.resize(m_graph.outputCount(node));
    for (std::uint32_t k = 0; k < base.size(); ++k) {
        if (m_gathered[k].empty()) {
            continue;
        }
        base[k].tensor = m_arithmetic.sum(node, k, m_gathered[k]);
        std::ranges::for_each(m_gathered[k], [this](HandleId handle) { m_arithmetic.release(handle); });
        m_gathered[k].clear();
        event::Event event = promiseEvent(EventKind::PromiseRelevance, id);
        event.slot = k;
        event.handle = base[k].tensor.value;
        emit(event);
    }
}

/// The relevance of a promise that sums parts: what it began with, tensors that landed since, then what its parents
/// brought, in the order in which they were complete.
void Traversal::Implementation::sumByArrival(NodeId node, PromiseId id)
{
    m_gathered.resize(std::max(m_gathered.size(), m_graph.outputCount(node)));
    if (const auto base = m_bases.find(id.value); base != m_bases.end()) {
        for (std::uint32_t k = 0; k < base->second.size(); ++k) {
            if (base->second[k].tensor.isValid()) {
                m_gathered[k].push_back(base->second[k].tensor);
            }
        }
        m_bases.erase(base);
    }
    std::vector<std::pair<std::uint32_t, std::uint32_t>> arrivals; // completion (tensors first), in-edge
    const std::size_t slots = m_graph.inEdges(node).size();
    for (std::uint32_t slot = 0; slot < slots; ++slot) {
        const Part& landed = part(node, slot);
        if (!landed.isEmpty()) {
            arrivals.emplace_back(landed.branch == kNoBranch ? 0 : m_branches[landed.branch].completed, slot);
        }
    }
    std::ranges::sort(arrivals);
    for (const auto& [completed, slot] : arrivals) {
        gatherPart(node, slot);
    }
    sumGathered(node);
}

/// The nodes at which the search of a Pre-Promise ended go on off the normal stack.
void Traversal::Implementation::pushTails(PromiseId id)
{
    const Promise pre = promise(id);
    for (BranchIndex b = pre.firstBranch; b < pre.firstBranch + pre.branchCount; ++b) {
        const NodeId tail = m_branches[b].argNode;
        if (!m_branches[b].endsAtArgNode || tail == pre.start || run(tail).missing > 0 || !m_queue.contains(tail)) {
            continue;
        }
        leaveQueue(tail);
        if (!run(tail).onNormal) {
            run(tail).onNormal = true;
            m_normal.push_back(tail);
            event::Event event = nodeEvent(EventKind::Push, tail);
            event.flag = 1;
            event.promise = id.value;
            emit(event);
        }
    }
}

void Traversal::Implementation::leaveQueue(NodeId node)
{
    event::Event event = nodeEvent(EventKind::Dequeue, node);
    event.extra = m_queue.remove(node);
    emit(event);
}

} // namespace retro::lrp
