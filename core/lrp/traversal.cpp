// SPDX-License-Identifier: Apache-2.0
#include "core/lrp/traversal.h"

#include "core/lrp/traversal/traversalstate.h"

#include <cassert>
#include <utility>

namespace retro::lrp
{

Traversal::Traversal(const TraversalGraph& graph, Arithmetic& arithmetic, event::Sink& sink, HandleId start,
                     std::vector<std::uint8_t> checkpoints)
    : m_impl(std::make_unique<Implementation>(graph, arithmetic, sink, start, std::move(checkpoints)))
{}

Traversal::~Traversal() = default;

bool Traversal::finished() const { return m_impl->isFinished(); }

base::Result<void> Traversal::step() { return m_impl->step(); }

const TraversalCounts& Traversal::counts() const { return m_impl->counts(); }

HandleId Traversal::relevance(NodeId node, std::uint32_t k) const { return m_impl->relevance(node, k); }

Traversal::Implementation::Implementation(const TraversalGraph& graph, Arithmetic& arithmetic, event::Sink& sink,
                                          HandleId start, std::vector<std::uint8_t> checkpoints)
    : m_graph(graph), m_arithmetic(arithmetic), m_sink(sink), m_checkpoints(std::move(checkpoints)), m_start(start),
      m_nodes(graph.size()), m_parts(graph.inEdgeCount()), m_firstOutput(graph.size() + 1, 0), m_queue(graph.size()),
      m_unknownNodes(graph.postOrder().size())
{
    m_checkpoints.resize(graph.size(), 0);
    for (std::size_t i = 0; i < graph.size(); ++i) {
        const NodeId node{i};
        m_nodes[i].missing = static_cast<std::uint32_t>(graph.inEdges(node).size());
        m_firstOutput[i + 1] = m_firstOutput[i] + static_cast<std::uint32_t>(graph.outputCount(node));
    }
    m_relevance.resize(m_firstOutput.back());
}

// A run that was stopped early still holds parts, arguments and relevance of branches.
Traversal::Implementation::~Implementation()
{
    const auto releaseIfValid = [this](HandleId handle) {
        if (handle.isValid()) {
            m_arithmetic.release(handle);
        }
    };
    releaseIfValid(m_start);
    for (const Part& landed : m_parts) {
        releaseIfValid(landed.tensor);
    }
    for (const Branch& branch : m_branches) {
        releaseIfValid(branch.argument);
        releaseIfValid(branch.relevance);
    }
    for (const HandleId handle : m_relevance) {
        releaseIfValid(handle);
    }
}

base::Result<void> Traversal::Implementation::step()
{
    if (m_finished) {
        return {};
    }
    if (!m_started) {
        begin();
    }
    const Pick picked = pick();
    if (!picked.node.isValid()) {
        m_finished = true;
        return stuckError();
    }
    const Merged merged = merge(picked);
    if (merged.what != Merged::What::Nothing && propagate(picked.node, merged)) {
        land(picked.node);
    }
    return isExhausted() ? end() : base::Result<void>();
}

// The virtual in-edge of the root receives the start relevance.
void Traversal::Implementation::begin()
{
    m_started = true;
    const NodeId root = m_graph.root();
    part(root, 0).tensor = std::exchange(m_start, HandleId());
    emit(partEvent(EventKind::Land, root, 0, part(root, 0)));
    if (--run(root).missing == 0) {
        pushNormal(root);
    }
}

base::Result<void> Traversal::Implementation::end()
{
    m_finished = true;
    if (m_incompletePromises > 0 || m_unknownNodes > 0) {
        return stuckError();
    }
    emit(newEvent(EventKind::Finished));
    return {};
}

event::Event Traversal::Implementation::newEvent(EventKind kind) const
{
    event::Event event;
    event.kind = kind;
    event.visit = m_counts.visits == 0 ? 0 : m_counts.visits - 1;
    return event;
}

event::Event Traversal::Implementation::nodeEvent(EventKind kind, NodeId node) const
{
    event::Event event = newEvent(kind);
    event.node = node.value;
    return event;
}

event::Event Traversal::Implementation::promiseEvent(EventKind kind, PromiseId id) const
{
    event::Event event = newEvent(kind);
    event.promise = id.value;
    return event;
}

event::Event Traversal::Implementation::branchEvent(EventKind kind, BranchIndex b) const
{
    const PromiseId owner = m_branches[b].promise;
    event::Event event = promiseEvent(kind, owner);
    event.branch = b - promise(owner).firstBranch;
    return event;
}

event::Event Traversal::Implementation::partEvent(EventKind kind, NodeId node, std::uint32_t slot,
                                                  const Part& landed) const
{
    event::Event event = landed.branch == kNoBranch ? newEvent(kind) : branchEvent(kind, landed.branch);
    const std::span<const InEdge> inEdges = m_graph.inEdges(node);
    event.node = node.value;
    event.slot = slot;
    event.other = inEdges[slot].consumer.value;
    event.branch2 = inEdges[slot].consumerSlot;
    event.handle = landed.tensor.value;
    event.extra = static_cast<std::int64_t>(inEdges.size());
    return event;
}

void Traversal::Implementation::emit(const event::Event& event)
{
    ++m_counts.events;
    m_sink.onEvent(event);
}

} // namespace retro::lrp
