// SPDX-License-Identifier: Apache-2.0
#include "app/gui/verificationfacts.h"

#include <algorithm>
#include <map>

namespace retro::app
{

namespace
{

/// A node by its name, or the input whose value has that name; invalid when there is neither.
base::NodeId nodeNamed(const graph::Graph& graph, const std::string& name)
{
    if (name.empty()) {
        return {};
    }
    if (const auto node = graph.findNode(name)) {
        return *node;
    }
    const auto value = graph.findValue(name);
    return value ? graph.nodeOf(*value) : base::NodeId();
}

views::Verdict verdictOf(engine::PropertyState state)
{
    switch (state) {
    case engine::PropertyState::Held:
        return views::Verdict::Held;
    case engine::PropertyState::Violated:
        return views::Verdict::Violated;
    case engine::PropertyState::NotApplicable:
        break;
    }
    return views::Verdict::NotApplicable;
}

/// Nodes of the run's graph by what was found out about them.
class NodeBook
{
public:
    explicit NodeBook(const graph::Graph& graph) : m_graph(graph) {}

    void add(const engine::NodeGradient& gradient)
    {
        if (views::CheckedNode* entry = entryOf(gradient.node)) {
            entry->error = gradient.error;
            entry->isKink = gradient.isKink;
            entry->note = QString::fromStdString(gradient.note);
        }
    }
    /// A node with several results has the distance of the farthest.
    void add(const engine::UlpDistance& distance)
    {
        if (views::CheckedNode* entry = entryOf(distance.node)) {
            entry->ulps = std::max(entry->ulps.value_or(0), distance.most);
            entry->relative = std::max(entry->relative, distance.relative);
        }
    }
    [[nodiscard]] std::vector<views::CheckedNode> take() const
    {
        std::vector<views::CheckedNode> nodes;
        for (const auto& [index, entry] : m_entries) {
            nodes.push_back(entry);
        }
        return nodes;
    }

private:
    views::CheckedNode* entryOf(const std::string& name)
    {
        const base::NodeId node = nodeNamed(m_graph, name);
        if (!node.isValid()) {
            return nullptr;
        }
        views::CheckedNode& entry = m_entries[node.index()];
        entry.node = node;
        return &entry;
    }

    const graph::Graph& m_graph;
    std::map<std::size_t, views::CheckedNode> m_entries;
};

views::ReverseStep stepOf(const engine::CourseStep& step, const graph::Graph& graph)
{
    views::ReverseStep out{nodeNamed(graph, step.node), {}};
    for (const engine::CourseSlot& slot : step.written) {
        out.slotsAfter.push_back(
            {QString::fromStdString(slot.value), nodeNamed(graph, slot.node), slot.loop, slot.recursion, slot.isEqual});
    }
    return out;
}

} // namespace

views::Verification verificationFacts(const engine::VerifyResult& result, const graph::Graph& graph)
{
    views::Verification facts;
    for (const engine::PropertyResult& one : result.properties) {
        facts.properties.push_back({QString::fromStdString(one.id), QString::fromStdString(one.statement),
                                    verdictOf(one.state), QString::fromStdString(one.detail),
                                    nodeNamed(graph, one.node)});
    }
    NodeBook book(graph);
    for (const engine::NodeGradient& one : result.nodes) {
        book.add(one);
    }
    for (const engine::UlpDistance& one : result.ulps) {
        book.add(one);
    }
    facts.nodes = book.take();
    for (const engine::CourseStep& step : result.course) {
        facts.course.push_back(stepOf(step, graph));
    }
    facts.cells = result.cells;
    facts.seconds = result.seconds;
    return facts;
}

} // namespace retro::app
