// SPDX-License-Identifier: Apache-2.0
#include "core/base/failure.h"
#include "core/lrp/traversal/traversalstate.h"

#include <utility>

namespace retro::lrp
{

/// Gives a branch its argument and carries out everything that follows.
void Traversal::Implementation::supplyArgument(BranchIndex b, HandleId value, NodeId foundAt)
{
    setArgument(b, value, foundAt);
    runFrames();
}

/// Sets the argument of a branch, carried up through the nodes that the branch crossed, last one first. Takes over the
/// reference. Follow-ups are left to runFrames().
void Traversal::Implementation::setArgument(BranchIndex b, HandleId value, NodeId foundAt)
{
    Branch& branch = m_branches[b];
    base::guard(!branch.hasArgument && !branch.relevance.isValid(), "a branch gets its argument once (I5)");
    m_crossed.clear();
    for (NodeId node = branch.pathLast; node.isValid(); node = run(node).pathBefore) {
        m_crossed.push_back(node);
    }
    if (!m_crossed.empty()) {
        m_arithmetic.release(std::exchange(value, m_arithmetic.carryForward(m_crossed, value)));
    }
    branch.argument = value;
    branch.hasArgument = true;
    event::Event event = branchEvent(EventKind::Arg, b);
    event.node = foundAt.value;
    event.slot = branch.operandSlot;
    event.handle = value.value;
    emit(event);
    if (--promise(branch.promise).missingArguments == 0) {
        --m_unreadyPromises;
        emit(promiseEvent(EventKind::Ready, branch.promise));
        m_frames.push_back({branch.promise, Frame::Phase::Values, 0});
    }
}

void Traversal::Implementation::request(PromiseId id)
{
    if (promise(id).missingArguments == 0) {
        m_frames.push_back({id, Frame::Phase::Values, 0});
        runFrames();
    }
}

/// Chains of promises are as long as a model is deep: requests wait on a list of their own, top first, so that effects
/// come in the order of the recursive text of section 2.4.
void Traversal::Implementation::runFrames()
{
    while (!m_frames.empty()) {
        advance();
    }
}

void Traversal::Implementation::advance()
{
    Frame& frame = m_frames.back();
    const PromiseId id = frame.promise;
    switch (frame.phase) {
    case Frame::Phase::Values:
        if (!serveParent(id)) {
            frame.phase = Frame::Phase::Relevance;
        }
        return;
    case Frame::Phase::Relevance:
        if (promise(id).isComplete || !promise(id).isOpen || promise(id).pendingParents > 0) {
            m_frames.pop_back();
            return;
        }
        complete(id);
        frame.phase = Frame::Phase::Cascade;
        return;
    case Frame::Phase::Cascade:
        if (!cascade(frame)) {
            m_frames.pop_back();
        }
        return;
    }
}

/// Offers the forward value to the next parent; false when all have been served.
bool Traversal::Implementation::serveParent(PromiseId id)
{
    Promise& ready = promise(id);
    const BranchIndex b = ready.nextToServe;
    if (b == kNoBranch) {
        return false;
    }
    ready.nextToServe = m_branches[b].nextParent;
    if (!m_branches[b].hasArgument) {
        setArgument(b, forwardValue(ready, m_branches[b].feedsOutput), NodeId());
    }
    return true;
}

/// Requests the child of the next branch; false when there is none left.
bool Traversal::Implementation::cascade(Frame& frame)
{
    const Promise& completed = promise(frame.promise);
    while (frame.branch < completed.branchCount) {
        const Branch& branch = m_branches[completed.firstBranch + frame.branch++];
        if (branch.isLinked && promise(branch.feeds).missingArguments == 0) {
            m_frames.push_back({branch.feeds, Frame::Phase::Values, 0}); // `frame` may have moved
            return true;
        }
    }
    return false;
}

HandleId Traversal::Implementation::forwardValue(const Promise& ready, std::uint32_t output)
{
    if (!ready.splits) {
        const HandleId argument = m_branches[ready.firstBranch].argument;
        m_arithmetic.retain(argument);
        return argument;
    }
    gatherOperands(ready);
    return m_arithmetic.forwardOutput(ready.start, m_operands, output);
}

/// Fills m_operands with the arguments of a promise, by operand slot of its start.
void Traversal::Implementation::gatherOperands(const Promise& ready)
{
    m_operands.assign(m_graph.children(ready.start).size(), HandleId());
    for (std::uint32_t i = 0; i < ready.branchCount; ++i) {
        const Branch& branch = m_branches[ready.firstBranch + i];
        m_operands[branch.operandSlot] = branch.argument;
    }
}

} // namespace retro::lrp
