// SPDX-License-Identifier: Apache-2.0
#include "core/base/failure.h"
#include "core/lrp/traversal/traversalstate.h"

namespace retro::lrp
{

/// Fills m_outs with what goes to each child slot; false when nothing goes on (a leaf, or a node that waits).
bool Traversal::Implementation::propagate(NodeId node, const Merged& merged)
{
    m_outs.assign(m_graph.children(node).size(), Part());
    return merged.what == Merged::What::Branch ? propagateBranch(node, merged.branch) : propagateRelevance(node);
}

bool Traversal::Implementation::propagateRelevance(NodeId node)
{
    if (isLeaf(node)) {
        return false;
    }
    if (m_arithmetic.isStrict(node)) {
        // I7: one search at a time. It ends where an arg node raises a promise of its own (Softmax): the queue goes
        // first, so that node's search may be interrupted by others.
        m_argNodesRaise = m_argNodesRaise || m_arithmetic.role(node) == Role::Arg;
        base::guard(m_unreadyPromises == 0 || m_argNodesRaise || m_followsDocument,
                    "one search is under way at a time (I7)");
        const PromiseId id = newPromise(m_arithmetic.promiseKind(node), node, true, true);
        announceRelevance(id);
        sendBranches(id);
        return true;
    }
    const std::vector<HandleId> shares = applyRule(node, {}, PromiseId());
    for (std::size_t slot = 0; slot < shares.size(); ++slot) {
        m_outs[slot].tensor = shares[slot];
    }
    return true;
}

bool Traversal::Implementation::propagateBranch(NodeId node, BranchIndex b)
{
    const PromiseId id = m_branches[b].promise;
    if (promise(id).start == node && promise(id).splits) {
        sendBranches(id); // a node with several outputs searches its operands by the promise that merged them
        return true;
    }
    switch (m_arithmetic.role(node)) {
    case Role::Arg:
        return answer(node, b);
    case Role::PassThrough:
        record(node, b);
        m_outs[trackedSlot(node)].branch = b;
        return true;
    case Role::Raise:
        break;
    }
    raise(node, b);
    return true;
}

/// The node knows its own forward output. It goes on with the branch's relevance as soon as that is there.
bool Traversal::Implementation::answer(NodeId node, BranchIndex b)
{
    m_branches[b].endsAtArgNode = true;
    setArgNode(b, node);
    supplyArgument(b, m_arithmetic.ownOutput(node, onlyOutput(node)), node);
    if (!isPending(b)) {
        return propagateRelevance(node);
    }
    run(node).waitsFor = b;
    event::Event event = branchEvent(EventKind::Wait, b);
    event.node = node.value;
    emit(event);
    if (!isLeaf(node) || run(node).prePromise.isValid() || m_followsDocument) {
        enqueue(node);
    }
    return false;
}

void Traversal::Implementation::record(NodeId node, BranchIndex b)
{
    NodeRun& crossed = run(node);
    base::guard(!crossed.wasCrossed, "a node is crossed once (I3)");
    crossed.wasCrossed = true;
    Branch& branch = m_branches[b];
    crossed.pathBefore = branch.pathLast;
    if (branch.pathLast.isValid()) {
        run(branch.pathLast).pathAfter = node;
    } else {
        branch.pathFirst = node;
    }
    branch.pathLast = node;
    event::Event event = branchEvent(EventKind::Record, b);
    event.node = node.value;
    emit(event);
}

/// The search needs what this node's operands are: a promise below the branch.
void Traversal::Implementation::raise(NodeId node, BranchIndex parent)
{
    const PromiseId id = newPromise(m_arithmetic.promiseKind(node), node, true, true);
    addParent(id, parent, 0);
    addChild(parent);
    sendBranches(id);
}

void Traversal::Implementation::sendBranches(PromiseId id)
{
    const Promise& sent = promise(id);
    for (std::uint32_t i = 0; i < sent.branchCount; ++i) {
        m_outs[m_branches[sent.firstBranch + i].operandSlot].branch = sent.firstBranch + i;
    }
}

/// Applies a node's rule to its relevance, once in a run.
std::vector<HandleId> Traversal::Implementation::applyRule(NodeId node, std::span<const HandleId> operands,
                                                           PromiseId by)
{
    base::guard(!run(node).ruleApplied, "the rule of a node is applied once (I2)");
    run(node).ruleApplied = true;
    std::vector<HandleId> shares = m_arithmetic.applyRule(node, relevanceOf(node), operands);
    base::guard(shares.size() == m_graph.children(node).size(), "a rule gives a share for each operand");
    event::Event event = nodeEvent(EventKind::Rule, node);
    event.promise = by.value;
    event.extra = m_rulesApplied++;
    emit(event);
    return shares;
}

std::uint32_t Traversal::Implementation::trackedSlot(NodeId node) const
{
    const std::span<const ChildSlot> children = m_graph.children(node);
    std::uint32_t slot = 0;
    while (!children[slot].child.isValid()) {
        ++slot;
    }
    return slot;
}

} // namespace retro::lrp
