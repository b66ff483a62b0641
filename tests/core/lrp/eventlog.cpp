// SPDX-License-Identifier: Apache-2.0
#include "tests/core/lrp/eventlog.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>
#include <utility>

namespace retro::lrptest
{

namespace
{

using event::Event;
using event::EventKind;

class Writer
{
public:
    Writer(const NodeName& nameOf, bool byDocument) : m_nameOf(nameOf), m_byDocument(byDocument) {}

    void add(const Event& event);
    RunText take() && { return std::move(m_text); }

private:
    struct Seen
    {
        std::size_t line = 0; // of its "new"
        std::uint32_t visit = 0;
        std::string parents;
        std::vector<HandleId> relevance;
    };

    void visit(const Event& event);
    void created(const Event& event);
    void parent(const Event& event);
    void argument(const Event& event);
    void opened(const Event& event);
    void completed(const Event& event);
    void began(const Event& event);
    void line(const Event& event, const std::string& text)
    {
        m_text.events.push_back(fmt::format("{} {}", event.visit + 1, text));
    }
    std::string name(std::uint32_t node) const { return m_nameOf(NodeId(node)); }

    const NodeName& m_nameOf;
    bool m_byDocument;
    std::map<std::uint32_t, std::size_t> m_beginnings; // by promise: its place in RunText::beginnings
    std::set<std::uint32_t> m_seenArguments;           // promises that were asked for their parts since
    std::map<std::uint32_t, Seen> m_promises;
    RunText m_text;
};

void Writer::add(const Event& event)
{
    switch (event.kind) {
    case EventKind::Visit:
        return visit(event);
    case EventKind::NewPromise:
        return created(event);
    case EventKind::AddParent:
        return parent(event);
    case EventKind::Arg:
        return argument(event);
    case EventKind::Ready:
        return line(event, fmt::format("ready P{}", event.promise));
    case EventKind::Join:
        return line(event, fmt::format("{} P{} parent P{}.{}", event.flag != 0 ? "rescue" : "join", event.promise,
                                       event.other, event.branch2));
    case EventKind::Push:
        return event.flag == 0 ? void() : line(event, fmt::format("tail P{} at {}", event.promise, name(event.node)));
    case EventKind::Finished:
        return m_byDocument ? line(event, event.flag != 0 ? "end checkpoints" : "end exhausted") : void();
    case EventKind::PromiseRelevance:
        return began(event);
    case EventKind::Open:
        return opened(event);
    case EventKind::BranchRelevance:
        m_promises[event.promise].relevance[event.branch] = HandleId(event.handle);
        return;
    case EventKind::Complete:
        return completed(event);
    default:
        return;
    }
}

void Writer::visit(const Event& event)
{
    m_text.trace.push_back(fmt::format("{}:{}:{}", event.visit, event::shortName(event.mode), name(event.node)));
}

void Writer::created(const Event& event)
{
    Seen& seen = m_promises[event.promise];
    seen.line = m_text.events.size();
    seen.visit = event.visit;
    seen.relevance.resize(event.slot);
    const auto kind = static_cast<event::PromiseKind>(event.extra);
    if (kind == event::PromiseKind::Aggregate || kind == event::PromiseKind::Unbind) {
        m_beginnings[event.promise] = m_text.beginnings.size();
        m_text.beginnings.push_back({fmt::format("P{}", event.promise), {}});
    }
    line(event, fmt::format("new P{} {} at {} parents", event.promise,
                            event::nameOf(static_cast<event::PromiseKind>(event.extra)), name(event.node)));
}

void Writer::parent(const Event& event)
{
    Seen& seen = m_promises[event.promise];
    const std::string text = fmt::format(" P{}.{}", event.other, event.branch2);
    seen.parents += text;
    if (seen.visit == event.visit) {
        m_text.events[seen.line] += text;
    }
}

void Writer::argument(const Event& event)
{
    m_seenArguments.insert(event.promise);
    const std::string place = event.node == NodeId::kInvalid ? "-" : name(event.node);
    line(event, fmt::format("arg P{}.{} at {}", event.promise, event.branch, place));
}

void Writer::opened(const Event& event)
{
    line(event, fmt::format("open P{} parents{}", event.promise, m_promises[event.promise].parents));
}

void Writer::completed(const Event& event)
{
    line(event, fmt::format("complete P{}", event.promise));
    m_text.completions.push_back({fmt::format("P{}", event.promise), m_promises[event.promise].relevance});
}

// What a promise has before anything else happens to it.
void Writer::began(const Event& event)
{
    const auto place = m_beginnings.find(event.promise);
    if (place == m_beginnings.end() || m_seenArguments.contains(event.promise)) {
        return;
    }
    std::vector<HandleId>& outputs = m_text.beginnings[place->second].relevance;
    outputs.resize(std::max<std::size_t>(outputs.size(), event.slot + 1));
    outputs[event.slot] = HandleId(event.handle);
}

RunText written(const std::vector<event::Event>& events, const NodeName& nameOf, bool byDocument)
{
    Writer writer(nameOf, byDocument);
    for (const Event& event : events) {
        writer.add(event);
    }
    return std::move(writer).take();
}

} // namespace

RunText textOf(const std::vector<event::Event>& events, const NodeName& nameOf)
{
    return written(events, nameOf, false);
}

RunText documentTextOf(const std::vector<event::Event>& events, const NodeName& nameOf)
{
    return written(events, nameOf, true);
}

} // namespace retro::lrptest
