// SPDX-License-Identifier: Apache-2.0
#include "core/trace/file/recordcheck.h"

#include <array>

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

/// Which ids a kind of event uses (core/event/event.h); the other fields of an event mean nothing.
enum Uses : std::uint8_t { kNode = 1, kPromise = 2, kOtherNode = 4, kOtherPromise = 8, kHandle = 16 };

constexpr std::array<int, event::kEventKindCount> kUses{
    kNode | kOtherNode,                      // Visit
    kNode,                                   // Push
    kNode,                                   // Pop
    kNode,                                   // Enqueue
    kNode,                                   // Dequeue
    kNode | kPromise | kOtherNode | kHandle, // Land
    kNode | kPromise | kOtherNode | kHandle, // Take
    kNode | kPromise,                        // NewPromise
    kPromise | kOtherPromise,                // AddParent
    kNode | kPromise,                        // Record
    kPromise | kOtherPromise,                // AddChild
    kNode | kPromise,                        // ArgNode
    kNode | kPromise | kHandle,              // Arg
    kPromise,                                // Ready
    kNode | kPromise | kOtherPromise,        // Join
    kPromise,                                // Open
    kPromise,                                // Complete
    kPromise | kHandle,                      // PromiseRelevance
    kPromise | kHandle,                      // BranchRelevance
    kNode | kPromise,                        // Wait
    kNode | kPromise,                        // Resume
    kNode | kHandle,                         // Relevance
    kNode | kPromise,                        // Rule
    kNode | kHandle,                         // Snapshot
    0,                                       // Finished
    kNode,                                   // Launch
    kNode,                                   // Candidate
    kNode,                                   // Split
    kNode,                                   // Drop
    kNode,                                   // Rebuild
    kNode | kHandle,                         // Compute
    kNode | kHandle,                         // Recompute
    kNode | kHandle,                         // Free
    kNode | kHandle,                         // Move
    kNode | kPromise | kHandle,              // Fetch
    kNode | kHandle                          // Buffer
};

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
    if (static_cast<std::size_t>(event.kind) >= event::kEventKindCount || event.mode > event::Mode::Fulfilment) {
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
    const int uses = kUses[static_cast<std::size_t>(event.kind)];
    const std::size_t nodes = m_run.graph->runNodeCount();
    return ((uses & kNode) == 0 || isMissingOrBelow<NodeId>(event.node, nodes)) &&
           ((uses & kPromise) == 0 || isMissingOrBelow<PromiseId>(event.promise, m_promises)) &&
           ((uses & kOtherNode) == 0 || isMissingOrBelow<NodeId>(event.other, nodes)) &&
           ((uses & kOtherPromise) == 0 || event.other < m_promises) &&
           ((uses & kHandle) == 0 || isMissingOrBelow<HandleId>(event.handle, m_run.handles.size()));
}

} // namespace retro::trace::file
