// SPDX-License-Identifier: Apache-2.0
#include "core/lrp/traversal/traversal.h"

#include "core/base/failure.h"
#include "core/event/partevent.h"
#include "core/lrp/traversal/traversalstate.h"
#include "core/lrp/traversal/view.h"

#include <algorithm>
#include <ranges>
#include <utility>

namespace retro::lrp
{

Traversal::Traversal(const TraversalGraph& graph, Arithmetic& arithmetic, event::Sink& sink,
                     std::vector<HandleId> starts, const TraversalOptions& options)
    : m_impl(std::make_unique<Implementation>(graph, arithmetic, sink, std::move(starts), options))
{}

Traversal::Traversal(const TraversalGraph& graph, Arithmetic& arithmetic, event::Sink& sink, HandleId start,
                     const TraversalOptions& options)
    : Traversal(graph, arithmetic, sink, std::vector{start}, options)
{}

Traversal::~Traversal() = default;

bool Traversal::finished() const { return m_impl->isFinished(); }

bool Traversal::stoppedEarly() const { return m_impl->hasStoppedEarly(); }

TraversalView Traversal::view() const { return m_impl->view(); }

base::Result<void> Traversal::step() { return m_impl->step(); }

const TraversalCounts& Traversal::counts() const { return m_impl->counts(); }

HandleId Traversal::relevance(NodeId node, std::uint32_t k) const { return m_impl->relevance(node, k); }

Traversal::Implementation::Implementation(const TraversalGraph& graph, Arithmetic& arithmetic, event::Sink& sink,
                                          std::vector<HandleId> starts, const TraversalOptions& options)
    : m_graph(graph), m_arithmetic(arithmetic), m_sink(sink), m_starts(std::move(starts)), m_nodes(graph.size()),
      m_parts(graph.inEdgeCount()), m_firstOutput(graph.size() + 1, 0), m_queue(graph.size()),
      m_unknownNodes(graph.postOrder().size())
{
    base::guard(m_starts.size() == graph.roots().size(), "there is a start for each root");
    for (std::size_t i = 0; i < graph.size(); ++i) {
        const NodeId node{i};
        m_nodes[i].missing = static_cast<std::uint32_t>(graph.inEdges(node).size());
        m_firstOutput[i + 1] = m_firstOutput[i] + static_cast<std::uint32_t>(graph.outputCount(node));
    }
    m_relevance.resize(m_firstOutput.back());
    setCheckpoints(options);
}

void Traversal::Implementation::setCheckpoints(const TraversalOptions& options)
{
    m_checkpoints.resize(m_relevance.size(), 0);
    for (const NodeOutput& checkpoint : options.checkpoints) {
        const auto isRead = [&](const InEdge& edge) { return edge.output == checkpoint.output; };
        std::uint8_t& mark = m_checkpoints[m_firstOutput[checkpoint.node.index()] + checkpoint.output];
        if (mark == 0 && std::ranges::any_of(m_graph.inEdges(checkpoint.node), isRead)) {
            mark = 1;
            ++m_openCheckpoints;
        }
    }
    m_followsDocument = options.followsDocument;
    m_stopsAtCheckpoints = (options.stopsAtCheckpoints || options.followsDocument) && m_openCheckpoints > 0;
}

// A run that was stopped early still holds parts, arguments and relevance of branches.
Traversal::Implementation::~Implementation()
{
    const auto releaseIfValid = [this](HandleId handle) {
        if (handle.isValid()) {
            m_arithmetic.release(handle);
        }
    };
    std::ranges::for_each(m_starts, releaseIfValid);
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
    for (const auto& [id, parts] : m_bases) {
        std::ranges::for_each(parts, [&](const Part& one) { releaseIfValid(one.tensor); });
    }
}

namespace
{
constexpr std::uint32_t kMostVisits = 3;           // of one node: search, fan-in, once more out of the queue
constexpr std::uint32_t kMostVisitsByDocument = 4; // and once more off the normal stack
} // namespace

base::Result<void> Traversal::Implementation::step()
{
    if (m_finished) {
        return {};
    }
    if (!m_started) {
        begin();
    }
    Pick picked = pick();
    while (!picked.node.isValid() && m_followsDocument && rescue()) {
        picked = pick();
    }
    // I2: a node that is visited again and again would keep the run going for ever.
    if (!picked.node.isValid() || m_counts.visitsMax > (m_followsDocument ? kMostVisitsByDocument : kMostVisits)) {
        m_finished = true;
        return stuckError();
    }
    const Merged merged = merge(picked);
    if (merged.what != Merged::What::Nothing && propagate(picked.node, merged)) {
        land(picked.node);
    }
    if (isExhausted()) {
        return end();
    }
    if (m_stopsAtCheckpoints && m_openCheckpoints == 0) {
        stopEarly();
    }
    return {};
}

// The virtual in-edges of the roots receive the start relevance. The first root goes on top of the stack; one that
// another root depends on waits for its real in-edges.
void Traversal::Implementation::begin()
{
    m_started = true;
    for (std::size_t i = 0; i < m_starts.size(); ++i) {
        const Root& root = m_graph.roots()[i];
        Part& landed = part(root.node, root.inEdge);
        landed.tensor = std::exchange(m_starts[i], HandleId());
        --run(root.node).missing;
        emit(partEvent(EventKind::Land, root.node, root.inEdge, landed));
    }
    for (const Root& root : std::views::reverse(m_graph.roots())) {
        if (run(root.node).missing == 0 && !run(root.node).onNormal) {
            pushNormal(root.node);
        }
    }
}

// Nobody asked for more than the checkpoints; what lies in the collections stays there.
void Traversal::Implementation::stopEarly()
{
    m_finished = true;
    m_stoppedEarly = true;
    m_arithmetic.finish();
    event::Event event = newEvent(EventKind::Finished);
    event.flag = 1;
    emit(event);
}

base::Result<void> Traversal::Implementation::end()
{
    m_finished = true;
    if (m_incompletePromises > 0 || m_unknownNodes > 0) {
        return stuckError();
    }
    m_arithmetic.finish();
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
    event.flag = inEdges[slot].isJoined ? event::kJoined : std::uint8_t{0};
    return event;
}

void Traversal::Implementation::emit(const event::Event& event)
{
    ++m_counts.events;
    m_sink.onEvent(event);
}

} // namespace retro::lrp
