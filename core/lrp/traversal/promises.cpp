// SPDX-License-Identifier: Apache-2.0
#include "core/base/failure.h"
#include "core/lrp/traversal/traversalstate.h"

namespace retro::lrp
{

PromiseId Traversal::Implementation::newPromise(PromiseKind kind, NodeId start, bool isOpen, bool splits)
{
    const PromiseId id{m_promises.size()};
    Promise created;
    created.kind = kind;
    created.start = start;
    created.firstBranch = static_cast<BranchIndex>(m_branches.size());
    created.isOpen = isOpen;
    created.splits = splits;
    if (!splits) {
        addBranch(created, id, 0);
    }
    const std::size_t slots = splits ? m_graph.children(start).size() : 0;
    for (std::uint32_t slot = 0; slot < slots; ++slot) {
        if (m_arithmetic.hasBranch(start, slot)) {
            addBranch(created, id, slot);
        }
    }
    created.missingArguments = created.branchCount;
    m_promises.push_back(created);
    ++m_counts.promises;
    ++m_incompletePromises;
    ++m_unreadyPromises;

    event::Event event = promiseEvent(EventKind::NewPromise, id);
    event.node = start.value;
    event.slot = created.branchCount;
    event.flag = isOpen ? 1 : 0;
    event.extra = static_cast<std::int64_t>(kind);
    emit(event);
    return id;
}

void Traversal::Implementation::addBranch(Promise& created, PromiseId id, std::uint32_t operandSlot)
{
    Branch branch;
    branch.promise = id;
    branch.operandSlot = operandSlot;
    m_branches.push_back(branch);
    ++created.branchCount;
}

/// Branch `b` ends at the start of a promise, through in-edge `inEdge`: it wants that promise's forward value and will
/// feed its relevance.
void Traversal::Implementation::addParent(PromiseId id, BranchIndex b, std::uint32_t inEdge)
{
    Promise& fed = promise(id);
    Branch& parent = m_branches[b];
    base::guard(!parent.feeds.isValid(), "a branch feeds one promise");
    parent.feeds = id;
    parent.feedsOutput = m_graph.inEdges(fed.start)[inEdge].output;
    if (fed.lastParent == kNoBranch) {
        fed.firstParent = b;
    } else {
        m_branches[fed.lastParent].nextParent = b;
    }
    fed.lastParent = b;
    if (fed.nextToServe == kNoBranch) {
        fed.nextToServe = b;
    }
    ++fed.parentCount;
    fed.pendingParents += isPending(b) ? 1 : 0;

    event::Event event = promiseEvent(EventKind::AddParent, id);
    event.other = parent.promise.value;
    event.branch2 = b - promise(parent.promise).firstBranch;
    event.slot = inEdge;
    event.extra = parent.feedsOutput;
    emit(event);
    setArgNode(b, fed.start);
}

/// The promise that a branch feeds becomes its child: completion cascades into it.
void Traversal::Implementation::addChild(BranchIndex b)
{
    Branch& parent = m_branches[b];
    if (parent.isLinked) {
        return;
    }
    parent.isLinked = true;
    event::Event event = branchEvent(EventKind::AddChild, b);
    event.other = parent.feeds.value;
    emit(event);
}

void Traversal::Implementation::setArgNode(BranchIndex b, NodeId node)
{
    event::Event event = branchEvent(EventKind::ArgNode, b);
    event.node = node.value;
    event.extra = m_branches[b].argNode.value;
    emit(event);
    m_branches[b].argNode = node;
}

/// Tells the queue when a node may be taken: what it waits for is complete, or its inputs have all landed and its
/// Pre-Promise can open, or has been completed since.
void Traversal::Implementation::markIfEligible(NodeId node)
{
    const NodeRun& queued = run(node);
    bool eligible = isFulfilled(node);
    if (!eligible && queued.prePromise.isValid() && queued.missing == 0) {
        const Promise& pre = promise(queued.prePromise);
        eligible = pre.pendingParents == 0 && (!pre.isOpen || pre.isComplete);
    }
    if (eligible) {
        m_queue.markEligible(node);
    }
}

/// True for nodes with several outputs that cannot answer a search themselves: whatever is pending there is merged into
/// one promise for their operands.
bool Traversal::Implementation::searchesOperands(NodeId node) const
{
    if (m_graph.outputCount(node) < 2) {
        return false;
    }
    if (m_arithmetic.role(node) != Role::Arg) {
        return true;
    }
    for (const InEdge& edge : m_graph.inEdges(node)) {
        if (edge.output != onlyOutput(node)) {
            return true;
        }
    }
    return false;
}

} // namespace retro::lrp
