// SPDX-License-Identifier: Apache-2.0
#include "core/program/firstpass.h"

#include "core/event/partevent.h"

#include <algorithm>

namespace retro::program
{

using event::Event;
using event::EventKind;
using event::PromiseKind;

bool RaisedPromise::splits(const std::vector<RaisedPromise>& all) const
{
    if (kind != PromiseKind::Pre && kind != PromiseKind::Aggregate) {
        return true;
    }
    const SearchedBranch& search = branches.front();
    if (!search.path.empty()) {
        return search.path.front() != start;
    }
    return search.feeds.isValid() ? all[search.feeds.index()].start != start : search.foundAt != start;
}

base::Result<void> FirstPass::take(const Event& event)
{
    bool isGood = true;
    switch (event.kind) {
    case EventKind::NewPromise:
    case EventKind::AddParent:
        isGood = takePromise(event);
        break;
    case EventKind::Record:
    case EventKind::Arg:
        isGood = takeBranch(event);
        break;
    case EventKind::Land:
    case EventKind::Rule:
    case EventKind::Relevance:
    case EventKind::Snapshot:
        isGood = takeNode(event);
        break;
    case EventKind::Finished:
        m_isFinished = true;
        break;
    default:
        break;
    }
    return isGood ? base::Result<void>()
                  : base::inputError("an event names a promise, branch or node that does not exist");
}

SearchedBranch* FirstPass::branch(std::uint32_t promise, std::uint32_t branch)
{
    const bool exists = promise < m_promises.size() && branch < m_promises[promise].branches.size();
    return exists ? &m_promises[promise].branches[branch] : nullptr;
}

bool FirstPass::takeNewPromise(const Event& event)
{
    if (event.promise != m_promises.size() || event.node >= m_graph.runNodeCount()) {
        return false;
    }
    const NodeId start(event.node);
    const std::size_t most = m_graph.isInput(start) ? 1 : std::max<std::size_t>(1, m_graph.node(start).inputs.size());
    if (event.slot == 0 || event.slot > most) {
        return false;
    }
    m_promises.push_back({static_cast<PromiseKind>(event.extra), start, std::vector<SearchedBranch>(event.slot)});
    return true;
}

bool FirstPass::takePromise(const Event& event)
{
    if (event.kind == EventKind::NewPromise) {
        return takeNewPromise(event);
    }
    SearchedBranch* parent = branch(event.other, event.branch2);
    if (parent == nullptr || event.promise >= m_promises.size()) {
        return false;
    }
    parent->feeds = PromiseId(event.promise);
    parent->feedsOutput = static_cast<std::uint32_t>(event.extra);
    return true;
}

bool FirstPass::takeBranch(const Event& event)
{
    SearchedBranch* search = branch(event.promise, event.branch);
    if (search == nullptr) {
        return false;
    }
    if (event.kind == EventKind::Record) {
        search->path.emplace_back(event.node);
        return event.node < m_graph.nodeCount();
    }
    search->foundAt = NodeId(event.node);
    search->operandSlot = event.slot;
    search->isAnswered = true;
    return !search->foundAt.isValid() || search->foundAt.index() < m_graph.runNodeCount();
}

bool FirstPass::takeNode(const Event& event)
{
    if (event.node >= m_notes.size()) {
        return false;
    }
    if (event.kind == EventKind::Land) {
        m_landed.push_back(
            {NodeId(event.node), NodeId(event.other), event.slot, event.branch2, event::isJoined(event)});
        return true;
    }
    NodeNotes& notes = m_notes[event.node];
    if (event.kind == EventKind::Rule) {
        notes.isApplied = true;
        notes.by = PromiseId(event.promise);
    } else {
        notes.isKnown = true;
    }
    if (event.kind == EventKind::Snapshot) {
        m_snapshots.emplace(event.node, event.slot);
    }
    return !notes.by.isValid() || notes.by.index() < m_promises.size();
}

} // namespace retro::program
