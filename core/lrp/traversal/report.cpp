// SPDX-License-Identifier: Apache-2.0
#include "core/lrp/traversal/traversalstate.h"

#include <fmt/format.h>

#include <algorithm>
#include <string>

namespace retro::lrp
{

namespace
{
// A report names that many waiting nodes and promises; one circle is never longer in practice.
constexpr std::size_t kMostReported = 20;
} // namespace

/// Who waits for whom, for a traversal that cannot go on although it always can (docs/traversal.md, section 2.6).
base::Error Traversal::Implementation::stuckError() const
{
    std::string text =
        fmt::format("the traversal cannot go on after visit {}: {} promises are incomplete, {} nodes have "
                    "no relevance",
                    m_counts.visits, m_incompletePromises, m_unknownNodes);
    const std::vector<NodeId> queued = m_queue.members();
    for (std::size_t i = 0; i < std::min(queued.size(), kMostReported); ++i) {
        text += "; " + whyWaiting(queued[i]);
    }
    std::size_t reported = 0;
    for (std::size_t i = 0; i < m_promises.size() && reported < kMostReported; ++i) {
        if (!m_promises[i].isComplete) {
            text += "; " + whyIncomplete(PromiseId(i));
            ++reported;
        }
    }
    reported = 0;
    for (std::size_t i = 0; i < m_nodes.size() && reported < kMostReported; ++i) {
        if (m_nodes[i].missing > 0) {
            text += "; " + whatIsMissing(NodeId(i));
            ++reported;
        }
    }
    return {base::ErrorCode::Bug, text + "; please report this with the model", "promise traversal"};
}

std::string Traversal::Implementation::whyWaiting(NodeId node) const
{
    const NodeRun& queued = run(node);
    std::string text = fmt::format("node {} is queued", node.value);
    if (queued.waitsFor != kNoBranch) {
        text += ", waits for " + nameOf(queued.waitsFor);
    }
    if (queued.prePromise.isValid()) {
        text += fmt::format(", has Pre-Promise P{}", queued.prePromise.value);
    }
    return text + fmt::format(", misses {} inputs", queued.missing);
}

// In-edges that are empty and were never filled; those of a node without visits that hold something are full.
std::string Traversal::Implementation::whatIsMissing(NodeId node) const
{
    std::string text = fmt::format("node {} misses", node.value);
    const std::span<const InEdge> edges = m_graph.inEdges(node);
    for (std::size_t slot = 0; slot < edges.size(); ++slot) {
        const NodeId consumer = edges[slot].consumer;
        if (m_parts[m_graph.firstInEdge(node) + slot].isEmpty() && consumer.isValid()) {
            text += fmt::format(" in-edge {} of {} from node {},", slot + 1, edges.size(), consumer.value);
        }
    }
    text.pop_back();
    return text;
}

std::string Traversal::Implementation::whyIncomplete(PromiseId id) const
{
    const Promise& waiting = promise(id);
    std::string text =
        fmt::format("P{} ({}) at node {} waits for", id.value, event::nameOf(waiting.kind), waiting.start.value);
    if (!waiting.isOpen) {
        text += fmt::format(" {} inputs of its node;", run(waiting.start).missing);
    }
    for (std::uint32_t i = 0; i < waiting.branchCount; ++i) {
        const Branch& branch = m_branches[waiting.firstBranch + i];
        if (!branch.hasArgument) {
            text += fmt::format(" the value of {};", nameOf(waiting.firstBranch + i));
        }
    }
    for (BranchIndex b = waiting.firstParent; b != kNoBranch; b = m_branches[b].nextParent) {
        if (isPending(b)) {
            text += fmt::format(" relevance of {};", nameOf(b));
        }
    }
    text.pop_back();
    return text;
}

std::string Traversal::Implementation::nameOf(BranchIndex b) const
{
    const PromiseId id = m_branches[b].promise;
    return fmt::format("P{}.{}", id.value, b - promise(id).firstBranch);
}

} // namespace retro::lrp
