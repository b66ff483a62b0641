// SPDX-License-Identifier: Apache-2.0
#include "app/gui/facts/verificationfacts.h"

#include <QCoreApplication>

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
            entry->isSingular = gradient.isSingular;
            entry->note = QString::fromStdString(gradient.note);
        }
    }
    /// A node with several results has the distance of the farthest.
    void add(const engine::UlpDistance& distance)
    {
        if (views::CheckedNode* entry = entryOf(distance.node)) {
            entry->ulps = std::max(entry->ulps.value_or(0), distance.most);
            entry->relative = std::max(entry->relative, distance.relative);
            entry->overflows = entry->overflows || distance.overflows > 0;
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

/// "Conv stem/conv" per name; the name alone for a node that a later rewrite took away again.
QStringList withOperators(const graph::Graph& graph, const std::vector<std::string>& names)
{
    QStringList texts;
    for (const std::string& name : names) {
        const auto node = graph.findNode(name);
        texts << QString::fromStdString(node ? graph.node(*node).op + " " + name : name);
    }
    return texts;
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

views::GradientReach reachFacts(const execute::BoundModel& model, base::ValueId from, base::ValueId to)
{
    const graph::Graph& graph = model.graph();
    const std::vector<base::ValueId> inputs = from.isValid() ? std::vector{from} : std::vector<base::ValueId>();
    const engine::CriticalNodes found = engine::criticalNodes(model, to, inputs);
    views::GradientReach facts;
    facts.from = from.isValid() ? QString::fromStdString(graph.value(from).name)
                                : QCoreApplication::translate("retro::app::VerificationController", "every input");
    facts.to = QString::fromStdString(graph.value(to).name);
    facts.critical = found.critical;
    for (const engine::LeftOutNode& one : found.leftOut) {
        if (const base::NodeId node = nodeNamed(graph, one.node); node.isValid()) {
            const std::string_view reason = analysis::textOf(one.reason);
            facts.leftOut.push_back({node, static_cast<views::WhyLeftOut>(one.reason),
                                     QString::fromUtf8(reason.data(), static_cast<qsizetype>(reason.size()))});
        }
    }
    std::ranges::sort(facts.leftOut, {}, [](const views::LeftOutFact& one) { return one.node.index(); });
    return facts;
}

views::RewriteDiff rewriteDiff(const rewrite::Rewritten& rewritten, const graph::Graph& shown)
{
    views::RewriteDiff diff{rewritten.before->nodeCount(), rewritten.graph->nodeCount(), {}};
    for (const rewrite::RewriteStep& step : rewritten.steps) {
        views::RewriteChange change{QString::fromStdString(step.rewrite),
                                    withOperators(*rewritten.before, step.removed),
                                    withOperators(*rewritten.graph, step.added),
                                    QString::fromStdString(step.text),
                                    {},
                                    step.isNote};
        change.node = step.added.empty() ? base::NodeId() : nodeNamed(shown, step.added.front());
        diff.changes.push_back(std::move(change));
    }
    return diff;
}

} // namespace retro::app
