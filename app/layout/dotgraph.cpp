// SPDX-License-Identifier: Apache-2.0
#include "app/layout/dotgraph.h"

#include "core/graph/graphbuilder.h"

#include <charconv>
#include <optional>
#include <string>
#include <unordered_map>

namespace retro::app
{

namespace
{

/// An attribute of a node; empty when it has none.
std::string attribute(Agnode_t* node, const char* name)
{
    std::string key(name); // cgraph wants names that it could write to
    const char* value = agget(node, key.data());
    return value == nullptr ? std::string() : std::string(value);
}

std::optional<double> numberOf(const std::string& text)
{
    double value = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
    const bool isNumber = !text.empty() && error == std::errc() && end == text.data() + text.size() && value >= 0;
    return isNumber ? std::optional(value) : std::nullopt;
}

class DotReader
{
public:
    explicit DotReader(Agraph_t* dot) : m_dot(dot), m_builder(agnameof(dot) == nullptr ? "" : agnameof(dot)) {}

    base::Result<graph::Graph> read()
    {
        for (Agnode_t* node = agfstnode(m_dot); node != nullptr; node = agnxtnode(m_dot, node)) {
            addValue(node);
        }
        for (Agnode_t* node = agfstnode(m_dot); node != nullptr; node = agnxtnode(m_dot, node)) {
            addNode(node);
        }
        return std::move(m_builder).build();
    }

private:
    void addValue(Agnode_t* node)
    {
        const graph::ValueId id = m_builder.addResult(agnameof(node));
        m_values.emplace(node, id);
        const std::optional<double> bytes = numberOf(attribute(node, "bytes"));
        if (bytes && *bytes < 1e18) {
            graph::ValueFacts facts;
            facts.bytes = static_cast<std::uint64_t>(*bytes);
            m_builder.note(id, std::make_shared<const graph::ValueFacts>(facts));
        }
    }

    void addNode(Agnode_t* dotNode)
    {
        graph::Node node;
        node.op = attribute(dotNode, "op");
        node.op = node.op.empty() ? "Node" : node.op;
        node.domain = "dot";
        node.name = agnameof(dotNode);
        for (Agedge_t* edge = agfstin(m_dot, dotNode); edge != nullptr; edge = agnxtin(m_dot, edge)) {
            node.inputs.push_back(m_values.at(agtail(edge)));
        }
        const graph::ValueId value = m_values.at(dotNode);
        node.outputs.push_back(value);
        const std::string label = attribute(dotNode, "label");
        if (!label.empty() && label != "\\N") {
            node.metadata["label"] = label;
        }
        graph::NodeFacts facts;
        facts.flops = numberOf(attribute(dotNode, "flops"));
        if (facts.flops) {
            node.facts = std::make_shared<const graph::NodeFacts>(facts);
        }
        m_builder.addNode(std::move(node));
        if (agfstout(m_dot, dotNode) == nullptr) {
            m_builder.addOutput(value);
        }
    }

    Agraph_t* m_dot;
    graph::GraphBuilder m_builder;
    std::unordered_map<Agnode_t*, graph::ValueId> m_values;
};

} // namespace

base::Result<graph::Graph> graphFromDot(Agraph_t* dot) { return DotReader(dot).read(); }

} // namespace retro::app
