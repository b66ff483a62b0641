// SPDX-License-Identifier: Apache-2.0
#include "core/base/failure.h"
#include "core/lrp/traversal/traversalstate.h"

#include <algorithm>

namespace retro::lrp
{

/// The queue goes first, then the search stack, then the normal stack.
Pick Traversal::Implementation::pick()
{
    skipDone();
    Pick picked;
    if (picked.node = m_queue.firstEligible(); picked.node.isValid()) {
        picked.mode = isFulfilled(picked.node) ? Mode::Fulfilment : Mode::Normal;
        announce(picked);
        event::Event event = nodeEvent(EventKind::Dequeue, picked.node);
        event.extra = m_queue.takeFirstEligible();
        emit(event);
        return picked;
    }
    if (const std::size_t depth = usableSearchDepth(); depth > 0) {
        picked = {Mode::Search, m_search[depth - 1]};
        announce(picked);
        while (m_search.size() > depth) {
            popSearch(true);
        }
        popSearch(false);
    } else if (!m_normal.empty()) {
        picked = {Mode::Normal, m_normal.back()};
        announce(picked);
        while (!m_search.empty()) {
            popSearch(true);
        }
        popNormal();
    }
    return picked;
}

/// True when no pick is left; search entries that nobody needs any more are discarded first.
bool Traversal::Implementation::isExhausted()
{
    skipDone();
    if (m_followsDocument && m_incompletePromises > 0) {
        return false;
    }
    if (!m_normal.empty() || !m_queue.isEmpty() || usableSearchDepth() > 0) {
        return false;
    }
    while (!m_search.empty()) {
        popSearch(true);
    }
    return true;
}

bool Traversal::Implementation::isFulfilled(NodeId node) const
{
    return run(node).waitsFor != kNoBranch && !isPending(run(node).waitsFor);
}

/// A node on the search stack is of use while it is not being searched and waits for more inputs.
bool Traversal::Implementation::isUsable(NodeId node) const
{
    return !run(node).prePromise.isValid() && run(node).missing > 0;
}

/// Height of the search stack up to its topmost usable node; 0 when there is none.
std::size_t Traversal::Implementation::usableSearchDepth() const
{
    std::size_t depth = m_search.size();
    while (depth > 0 && !isUsable(m_search[depth - 1])) {
        --depth;
    }
    return depth;
}

void Traversal::Implementation::announce(const Pick& picked)
{
    NodeRun& node = run(picked.node);
    ++m_counts.visits;
    ++(picked.mode == Mode::Normal   ? m_counts.normal
       : picked.mode == Mode::Search ? m_counts.search
                                     : m_counts.fulfilment);
    ++node.visits;
    m_counts.visitsMax = std::max<std::uint32_t>(m_counts.visitsMax, node.visits);
    m_arithmetic.beginVisit(m_counts.visits - 1);

    event::Event event = nodeEvent(EventKind::Visit, picked.node);
    event.mode = picked.mode;
    event.other = m_current.value;
    event.extra = static_cast<std::int64_t>(node.lastMode);
    emit(event);
    node.lastMode = picked.mode;
    m_current = picked.node;
}

void Traversal::Implementation::pushNormal(NodeId node)
{
    base::guard(!run(node).onNormal, "a node waits once for its visit");
    run(node).onNormal = true;
    m_normal.push_back(node);
    emit(nodeEvent(EventKind::Push, node));
}

void Traversal::Implementation::pushSearch(NodeId node)
{
    base::guard(!run(node).onSearch || m_followsDocument, "a node waits once for a search");
    run(node).onSearch = true;
    m_search.push_back(node);
    event::Event event = nodeEvent(EventKind::Push, node);
    event.extra = 1;
    emit(event);
}

void Traversal::Implementation::popNormal()
{
    const NodeId node = m_normal.back();
    m_normal.pop_back();
    run(node).onNormal = false;
    emit(nodeEvent(EventKind::Pop, node));
}

void Traversal::Implementation::popSearch(bool discarded)
{
    const NodeId node = m_search.back();
    m_search.pop_back();
    run(node).onSearch = false;
    event::Event event = nodeEvent(EventKind::Pop, node);
    event.extra = 1;
    event.flag = discarded ? 1 : 0;
    emit(event);
}

void Traversal::Implementation::enqueue(NodeId node)
{
    event::Event event = nodeEvent(EventKind::Enqueue, node);
    event.extra = m_queue.append(node);
    emit(event);
}

} // namespace retro::lrp
