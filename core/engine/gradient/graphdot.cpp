// SPDX-License-Identifier: Apache-2.0
#include "core/engine/gradient/graphdot.h"

#include "core/base/visibletext.h"

#include <fmt/format.h>

#include <map>
#include <set>

namespace retro::engine
{

namespace
{

using base::NodeId;

std::string inQuotes(const std::string& text)
{
    std::string safe;
    for (const char c : base::visibleText(text)) {
        safe += c == '"' || c == '\\' ? fmt::format("\\{}", c) : std::string(1, c);
    }
    return "\"" + safe + "\"";
}

class DotWriter
{
public:
    explicit DotWriter(const graph::Graph& graph) : m_graph(graph) {}

    std::string write() &&
    {
        for (const graph::ValueId input : m_graph.inputs()) {
            m_text += fmt::format("  {} [shape=ellipse];\n", nameOf(m_graph.nodeOf(input)));
        }
        for (std::size_t i = 0; i < m_graph.nodeCount(); ++i) {
            addNode(NodeId(i));
        }
        for (const graph::ValueId output : m_graph.outputs()) {
            const std::string name = unused("output " + m_graph.value(output).name);
            m_text += fmt::format("  {} [shape=ellipse];\n", name);
            addEdge(output, name);
        }
        return m_text + "}\n";
    }

private:
    void addNode(NodeId id)
    {
        const std::string name = nameOf(id);
        m_text += fmt::format("  {} [label={}];\n", name, inQuotes(m_graph.node(id).op));
        for (const graph::ValueId operand : m_graph.node(id).inputs) {
            if (operand.isValid()) {
                addEdge(operand, name);
            }
        }
    }

    /// From what makes the value; nothing makes a constant.
    void addEdge(graph::ValueId value, const std::string& to)
    {
        if (const NodeId from = m_graph.nodeOf(value); from.isValid()) {
            m_text += fmt::format("  {} -> {};\n", nameOf(from), to);
        }
    }

    std::string nameOf(NodeId id)
    {
        const auto at = m_names.find(id);
        return at != m_names.end() ? at->second : m_names.emplace(id, unused(m_graph.labelOf(id))).first->second;
    }

    std::string unused(std::string name)
    {
        while (!m_used.insert(name).second) {
            name += "~";
        }
        return inQuotes(name);
    }

    const graph::Graph& m_graph;
    std::map<NodeId, std::string> m_names; ///< in quotes
    std::set<std::string> m_used;
    std::string m_text = "digraph gradient {\n  rankdir=TB;\n  node [shape=box];\n";
};

} // namespace

std::string dotOf(const graph::Graph& graph) { return DotWriter(graph).write(); }

} // namespace retro::engine
