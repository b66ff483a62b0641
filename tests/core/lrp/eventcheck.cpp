// SPDX-License-Identifier: Apache-2.0
#include "tests/core/lrp/eventlog.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <map>
#include <set>
#include <tuple>
#include <utility>

namespace retro::lrptest
{

namespace
{

using event::Event;
using event::EventKind;
using Branch = std::pair<std::uint32_t, std::uint32_t>;
using Slot = std::pair<std::uint32_t, std::uint32_t>;

// Keeps the state that events describe and notes the first one that does not fit.
class Checker
{
public:
    void add(const Event& event)
    {
        m_event = &event;
        applyCollections(event);
        applyParts(event);
        applyPromises(event);
        applyBranches(event);
        applyNodes(event);
    }
    std::string result();

private:
    void expect(bool condition, const char* what)
    {
        if (!condition && m_fault.empty()) {
            m_fault = fmt::format("visit {}, {}: {}", m_event->visit, event::nameOf(m_event->kind), what);
        }
    }
    void applyCollections(const Event& event);
    void applyParts(const Event& event);
    void applyPromises(const Event& event);
    void applyBranches(const Event& event);
    void applyNodes(const Event& event);
    void visit(const Event& event);
    void land(const Event& event);

    struct PromiseFacts
    {
        bool open = false;
        bool ready = false;
        bool complete = false;
    };
    struct BranchFacts
    {
        std::uint32_t argNode = NodeId::kInvalid;
        std::uint32_t argument = HandleId::kInvalid;
        std::uint32_t relevance = HandleId::kInvalid;
    };

    const Event* m_event = nullptr;
    std::string m_fault;
    std::array<std::vector<std::uint32_t>, 2> m_stacks; // normal, search
    std::vector<std::uint32_t> m_queue;
    std::map<Slot, Event> m_parts;
    std::map<std::uint32_t, std::uint32_t> m_landed;
    std::map<std::uint32_t, std::int64_t> m_lastMode;
    std::map<std::uint32_t, Branch> m_waits;
    std::map<std::uint32_t, PromiseFacts> m_promises;
    std::map<Branch, BranchFacts> m_branches;
    std::set<std::uint32_t> m_ruled;
    std::set<std::uint32_t> m_crossed;
    std::set<Slot> m_known;
    std::uint32_t m_current = NodeId::kInvalid;
    std::uint32_t m_visits = 0;
    std::uint32_t m_enqueued = 0;
    bool m_finished = false;
};

void Checker::applyCollections(const Event& event)
{
    std::vector<std::uint32_t>& stack = m_stacks[event.extra == 1 ? 1 : 0];
    if (event.kind == EventKind::Push) {
        stack.push_back(event.node);
    } else if (event.kind == EventKind::Pop) {
        expect(!stack.empty() && stack.back() == event.node, "the node is not on top");
        if (!stack.empty()) {
            stack.pop_back();
        }
    } else if (event.kind == EventKind::Enqueue) {
        expect(event.extra == m_enqueued++, "wrong enqueue number");
        expect(std::find(m_queue.begin(), m_queue.end(), event.node) == m_queue.end(), "queued twice");
        m_queue.push_back(event.node);
    } else if (event.kind == EventKind::Dequeue) {
        const auto position = static_cast<std::size_t>(event.extra);
        const bool fits = position < m_queue.size() && m_queue[position] == event.node;
        expect(fits, "the node is not at that position");
        if (fits) {
            m_queue.erase(m_queue.begin() + event.extra);
        }
    }
}

void Checker::land(const Event& event)
{
    expect(m_parts.emplace(Slot(event.node, event.slot), event).second, "the slot is not empty");
    expect(++m_landed[event.node] <= static_cast<std::uint32_t>(event.extra), "more parts than in-edges");
    expect((event.handle == HandleId::kInvalid) != (event.promise == base::PromiseId::kInvalid),
           "neither tensor nor branch, or both");
}

void Checker::applyParts(const Event& event)
{
    if (event.kind == EventKind::Land) {
        land(event);
    } else if (event.kind == EventKind::Take) {
        const auto landed = m_parts.find(Slot(event.node, event.slot));
        expect(landed != m_parts.end(), "the slot is empty");
        if (landed == m_parts.end()) {
            return;
        }
        const Event& before = landed->second;
        expect(std::tie(before.handle, before.promise, before.branch, before.other, before.extra) ==
                   std::tie(event.handle, event.promise, event.branch, event.other, event.extra),
               "not what had landed");
        m_parts.erase(landed);
    }
}

void Checker::applyPromises(const Event& event)
{
    if (event.kind == EventKind::NewPromise) {
        expect(event.promise == m_promises.size(), "promises are not numbered by creation");
        m_promises[event.promise].open = event.flag != 0;
        for (std::uint32_t i = 0; i < event.slot; ++i) {
            m_branches[Branch(event.promise, i)] = {};
        }
        return;
    }
    const auto found = m_promises.find(event.promise);
    if (found == m_promises.end()) {
        expect(event.promise == base::PromiseId::kInvalid, "unknown promise");
        return;
    }
    PromiseFacts& promise = found->second;
    if (event.kind == EventKind::Ready) {
        expect(!std::exchange(promise.ready, true), "ready twice");
    } else if (event.kind == EventKind::Open) {
        expect(!std::exchange(promise.open, true), "open already");
    } else if (event.kind == EventKind::Complete) {
        expect(promise.open && promise.ready, "complete before open and ready");
        expect(!std::exchange(promise.complete, true), "complete twice");
    } else if (event.kind == EventKind::PromiseRelevance) {
        expect(promise.open && !promise.complete, "relevance for a promise that is closed or complete");
    }
}

void Checker::applyBranches(const Event& event)
{
    const auto found = m_branches.find(Branch(event.promise, event.branch));
    if (found == m_branches.end()) {
        return;
    }
    BranchFacts& branch = found->second;
    if (event.kind == EventKind::Arg) {
        expect(std::exchange(branch.argument, event.handle) == HandleId::kInvalid, "second argument");
    } else if (event.kind == EventKind::ArgNode) {
        expect(std::exchange(branch.argNode, event.node) == static_cast<std::uint32_t>(event.extra),
               "other node before");
    } else if (event.kind == EventKind::BranchRelevance) {
        expect(branch.argument != HandleId::kInvalid, "relevance before argument");
        expect(std::exchange(branch.relevance, event.handle) == static_cast<std::uint32_t>(event.extra),
               "other relevance before");
    } else if (event.kind == EventKind::Record) {
        expect(m_crossed.insert(event.node).second, "node in two paths");
    }
}

void Checker::visit(const Event& event)
{
    expect(event.visit == m_visits++, "visits are not numbered from 0");
    expect(std::exchange(m_current, event.node) == event.other, "other current node before");
    expect(std::exchange(m_lastMode[event.node], static_cast<std::int64_t>(event.mode)) == event.extra,
           "other mode before");
}

void Checker::applyNodes(const Event& event)
{
    const Branch branch(event.promise, event.branch);
    if (event.kind == EventKind::Visit) {
        visit(event);
    } else if (event.kind == EventKind::Wait) {
        expect(m_waits.emplace(event.node, branch).second, "waits already");
    } else if (event.kind == EventKind::Resume) {
        const auto waiting = m_waits.find(event.node);
        expect(waiting != m_waits.end() && waiting->second == branch, "did not wait for that");
        expect(m_promises[event.promise].complete, "the promise is not complete");
        m_waits.erase(event.node);
    } else if (event.kind == EventKind::Rule) {
        expect(static_cast<std::size_t>(event.extra) == m_ruled.size(), "rules are not numbered");
        expect(m_ruled.insert(event.node).second, "rule applied twice");
    } else if (event.kind == EventKind::Relevance) {
        expect(m_known.insert(Slot(event.node, event.slot)).second, "relevance known twice");
    } else if (event.kind == EventKind::Finished) {
        m_finished = true;
    }
}

std::string Checker::result()
{
    if (m_event == nullptr) {
        return "no events";
    }
    expect(m_finished, "the run does not end with finished");
    expect(m_stacks[0].empty() && m_stacks[1].empty() && m_queue.empty(), "a collection is not empty at the end");
    expect(m_parts.empty(), "a part was never taken");
    expect(m_waits.empty(), "a node still waits");
    for (const auto& [id, promise] : m_promises) {
        expect(promise.complete, "a promise was left open");
    }
    return m_fault;
}

} // namespace

std::string inconsistency(const std::vector<event::Event>& events)
{
    Checker checker;
    for (const Event& event : events) {
        checker.add(event);
    }
    return checker.result();
}

} // namespace retro::lrptest
