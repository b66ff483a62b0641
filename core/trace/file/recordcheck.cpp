// SPDX-License-Identifier: Apache-2.0
#include "core/trace/file/recordcheck.h"

namespace retro::trace::file
{

using event::EventKind;

namespace
{

/// An id that may be missing.
template <class Id>
bool isMissingOrBelow(std::uint32_t id, std::size_t count)
{
    return id == Id::kInvalid || id < count;
}

bool otherIsPromise(EventKind kind)
{
    return kind == EventKind::AddParent || kind == EventKind::AddChild || kind == EventKind::Join;
}

} // namespace

const char* wrongEntry(const event::LedgerEntry& entry, const Run& run)
{
    return entry.node < run.graph->nodeCount() ? nullptr : "a ledger row names a node that does not exist";
}

const char* EventCheck::next(const Event& event)
{
    if (const char* wrong = checkKinds(event)) {
        return wrong;
    }
    if (!areIdsGood(event)) {
        return "an event names a node, promise or tensor that does not exist";
    }
    if (event.visit > m_run.visitStart.size()) {
        return "an event belongs to a visit that has not begun";
    }
    return nullptr;
}

const char* EventCheck::checkKinds(const Event& event)
{
    if (event.kind > EventKind::Finished || event.mode > event::Mode::Fulfilment) {
        return "an event has a kind or mode that does not exist";
    }
    if (event.kind == EventKind::NewPromise) {
        if (event.promise != m_promises++ || event.extra < 0 ||
            event.extra > static_cast<std::int64_t>(event::PromiseKind::Operator)) {
            return "a promise has a wrong number or kind";
        }
    }
    if (event.kind == EventKind::Visit) {
        if (event.visit != m_run.visitStart.size()) {
            return "visits are not numbered in order";
        }
        m_run.visitStart.push_back(firstEventOfPick(m_run.events, m_run.events.size() - 1));
    }
    return nullptr;
}

bool EventCheck::areIdsGood(const Event& event) const
{
    const std::size_t nodes = m_run.graph->runNodeCount();
    const bool isOther =
        otherIsPromise(event.kind) ? event.other < m_promises : isMissingOrBelow<NodeId>(event.other, nodes);
    return isOther && isMissingOrBelow<NodeId>(event.node, nodes) &&
           isMissingOrBelow<PromiseId>(event.promise, m_promises) &&
           isMissingOrBelow<HandleId>(event.handle, m_run.handles.size());
}

} // namespace retro::trace::file
