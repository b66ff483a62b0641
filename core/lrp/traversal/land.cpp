// SPDX-License-Identifier: Apache-2.0
#include "core/base/failure.h"
#include "core/lrp/traversal/traversalstate.h"

#include <ranges>

namespace retro::lrp
{

/// Lands what the node sends at its children, then looks at each distinct child once. A child slot that gets nothing
/// although its operand is tracked breaks the contract of Arithmetic: the run then ends with an error that names it.
void Traversal::Implementation::land(NodeId node)
{
    const std::span<const ChildSlot> children = m_graph.children(node);
    linkSlotsOfSameChild(node);
    for (std::uint32_t slot = 0; slot < children.size(); ++slot) {
        if (sendsTo(children[slot], slot)) {
            landPart(node, slot);
            if (m_followsDocument) {
                examine(children[slot].child, slot);
            }
        }
    }
    for (std::uint32_t slot = 0; slot < children.size(); ++slot) {
        if (!children[slot].child.isValid()) {
            answerUntracked(node, slot);
        }
    }
    if (m_followsDocument) {
        return;
    }
    m_ready.clear();
    m_toSearch.clear();
    for (std::uint32_t slot = 0; slot < children.size(); ++slot) {
        if (sendsTo(children[slot], slot) && run(children[slot].child).landSlot == slot) {
            reach(children[slot].child, slot);
        }
    }
    for (const NodeId child : std::views::reverse(m_ready)) {
        pushNormal(child);
    }
    for (const NodeId child : std::views::reverse(m_toSearch)) {
        pushSearch(child);
    }
}

/// Makes, per child, a list of the slots that lead to it and send something: run(child).landSlot is the first,
/// m_nextSlot the rest.
void Traversal::Implementation::linkSlotsOfSameChild(NodeId node)
{
    const std::span<const ChildSlot> children = m_graph.children(node);
    ++m_landing;
    m_nextSlot.assign(children.size(), kNoSlot);
    for (auto slot = static_cast<std::uint32_t>(children.size()); slot-- > 0;) {
        if (!sendsTo(children[slot], slot)) {
            continue;
        }
        NodeRun& child = run(children[slot].child);
        m_nextSlot[slot] = child.landing == m_landing ? child.landSlot : kNoSlot;
        child.landing = m_landing;
        child.landSlot = slot;
    }
}

void Traversal::Implementation::landPart(NodeId node, std::uint32_t slot)
{
    const ChildSlot& target = m_graph.children(node)[slot];
    Part& landed = part(target.child, target.inEdge);
    base::guard(landed.isEmpty() && run(target.child).missing > 0, "a part lands once in its slot (I1)");
    landed = m_outs[slot];
    --run(target.child).missing;
    emit(partEvent(EventKind::Land, target.child, target.inEdge, landed));
}

void Traversal::Implementation::answerUntracked(NodeId node, std::uint32_t slot)
{
    if (m_outs[slot].branch != kNoBranch) {
        supplyArgument(m_outs[slot].branch, m_arithmetic.untrackedOperand(node, slot), NodeId());
    }
}

/// What follows for a child at which something landed.
void Traversal::Implementation::reach(NodeId child, std::uint32_t firstSlot)
{
    const NodeRun& reached = run(child);
    if (reached.prePromise.isValid()) {
        join(child, firstSlot);
    }
    if (reached.missing == 0) {
        if (m_queue.contains(child)) {
            markIfEligible(child);
        } else if (!reached.onNormal) {
            m_ready.push_back(child);
        }
    } else if (!reached.prePromise.isValid() && !reached.onSearch && bringsSearch(firstSlot)) {
        m_toSearch.push_back(child);
    }
}

/// Branches that land on a node that is being searched become parents of its Pre-Promise at once: no search waits.
void Traversal::Implementation::join(NodeId child, std::uint32_t firstSlot)
{
    const PromiseId id = run(child).prePromise;
    for (std::uint32_t slot = firstSlot; slot != kNoSlot; slot = m_nextSlot[slot]) {
        const BranchIndex b = m_outs[slot].branch;
        if (!isPending(b)) {
            continue;
        }
        base::guard(!promise(id).isOpen, "a promise that is joined is closed");
        event::Event event = promiseEvent(EventKind::Join, id);
        event.node = child.value;
        event.other = m_branches[b].promise.value;
        event.branch2 = b - promise(m_branches[b].promise).firstBranch;
        emit(event);
        addParent(id, b, m_graph.children(m_current)[slot].inEdge);
        request(id);
    }
}

bool Traversal::Implementation::bringsSearch(std::uint32_t firstSlot) const
{
    for (std::uint32_t slot = firstSlot; slot != kNoSlot; slot = m_nextSlot[slot]) {
        if (isPending(m_outs[slot].branch)) {
            return true;
        }
    }
    return false;
}

} // namespace retro::lrp
