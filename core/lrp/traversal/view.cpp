// SPDX-License-Identifier: Apache-2.0
#include "core/lrp/traversal/view.h"

#include "core/lrp/traversal/traversalstate.h"

namespace retro::lrp
{

TraversalView Traversal::Implementation::view() const
{
    TraversalView view;
    for (std::size_t i = 0; i < m_nodes.size(); ++i) {
        view.nodes.push_back(viewOf(NodeId(i)));
    }
    for (const Promise& promise : m_promises) {
        view.promises.push_back(viewOf(promise));
    }
    view.normalStack = m_normal;
    view.searchStack = m_search;
    view.queue = m_queue.members();
    view.isFinished = m_finished;
    return view;
}

TraversalView::Node Traversal::Implementation::viewOf(NodeId id) const
{
    const NodeRun& node = run(id);
    TraversalView::Node seen;
    seen.lastMode = node.lastMode;
    seen.visits = node.visits;
    seen.inEdges = static_cast<std::uint32_t>(m_graph.inEdges(id).size());
    seen.missing = node.missing;
    seen.prePromise = node.prePromise;
    seen.waitsFor = nameInView(node.waitsFor);
    seen.ruleApplied = node.ruleApplied;
    for (std::uint32_t slot = 0; slot < seen.inEdges; ++slot) {
        const Part& part = m_parts[m_graph.firstInEdge(id) + slot];
        seen.landed.push_back({part.tensor, nameInView(part.branch)});
    }
    const std::span<const HandleId> relevance = relevanceOf(id);
    seen.relevance.assign(relevance.begin(), relevance.end());
    return seen;
}

TraversalView::Promise Traversal::Implementation::viewOf(const Promise& promise) const
{
    TraversalView::Promise seen;
    seen.kind = promise.kind;
    seen.start = promise.start;
    seen.isOpen = promise.isOpen;
    seen.isReady = promise.missingArguments == 0;
    seen.isComplete = promise.isComplete;
    seen.pendingParents = promise.pendingParents;
    for (BranchIndex b = promise.firstParent; b != kNoBranch; b = m_branches[b].nextParent) {
        seen.parents.push_back({nameInView(b), m_branches[b].feedsOutput});
    }
    for (std::uint32_t i = 0; i < promise.branchCount; ++i) {
        const Branch& branch = m_branches[promise.firstBranch + i];
        TraversalView::Branch& out = seen.branches.emplace_back();
        for (NodeId node = branch.pathFirst; node.isValid(); node = run(node).pathAfter) {
            out.path.push_back(node);
        }
        out.argNode = branch.argNode;
        out.hasArgument = branch.hasArgument;
        out.argument = branch.argument;
        out.relevance = branch.relevance;
        out.child = branch.feeds;
        out.isLinked = branch.isLinked;
    }
    return seen;
}

TraversalView::BranchName Traversal::Implementation::nameInView(BranchIndex b) const
{
    if (b == kNoBranch) {
        return {};
    }
    const PromiseId id = m_branches[b].promise;
    return {id, b - promise(id).firstBranch};
}

} // namespace retro::lrp
