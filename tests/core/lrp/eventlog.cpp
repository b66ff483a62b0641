// SPDX-License-Identifier: Apache-2.0
#include "tests/core/lrp/eventlog.h"

#include <fmt/format.h>

#include <map>
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
    explicit Writer(const NodeName& nameOf) : m_nameOf(nameOf) {}

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
    void line(const Event& event, const std::string& text)
    {
        m_text.events.push_back(fmt::format("{} {}", event.visit + 1, text));
    }
    std::string name(std::uint32_t node) const { return m_nameOf(NodeId(node)); }

    const NodeName& m_nameOf;
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
        return line(event, fmt::format("join P{} parent P{}.{}", event.promise, event.other, event.branch2));
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

} // namespace

RunText textOf(const std::vector<event::Event>& events, const NodeName& nameOf)
{
    Writer writer(nameOf);
    for (const Event& event : events) {
        writer.add(event);
    }
    return std::move(writer).take();
}

} // namespace retro::lrptest
