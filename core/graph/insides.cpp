// SPDX-License-Identifier: Apache-2.0
#include "core/graph/insides.h"

#include "core/graph/graphbuilder.h"

#include <fmt/format.h>

#include <algorithm>
#include <span>
#include <string>
#include <utility>
#include <vector>

namespace retro::graph
{

using base::Result;

std::string joinedScope(const std::string& outer, const std::string& inner)
{
    return outer.empty() || inner.empty() ? outer + inner : outer + "/" + inner;
}

namespace
{

/// Writes a graph with what its nodes hold.
class Writer
{
public:
    explicit Writer(const Graph& graph) : m_builder(graph.name()) { m_builder.setOpsets(graph); }

    /// The values of `graph`, of which those before `given.size()` inputs are given.
    std::vector<ValueId> addGraph(const Graph& graph, std::span<const ValueId> given, const std::string& prefix)
    {
        std::vector<ValueId> values(graph.valueCount());
        for (std::size_t i = 0; i < given.size(); ++i) {
            values[graph.inputs()[i].index()] = given[i];
        }
        for (std::size_t i = 0; i < graph.valueCount(); ++i) {
            if (!values[i].isValid()) {
                values[i] = addValue(graph.values()[i], prefix);
            }
        }
        for (const Node& node : graph.nodes()) {
            addNode(node, values, prefix);
        }
        return values;
    }

    void addOutputs(const Graph& graph, std::span<const ValueId> values)
    {
        for (const ValueId output : graph.outputs()) {
            m_builder.addOutput(values[output.index()]);
        }
    }

    [[nodiscard]] Result<Graph> build(const std::stop_token& stop) && { return std::move(m_builder).build(stop); }

private:
    std::string unique(const std::string& name)
    {
        std::string found = name;
        for (int number = 2; m_builder.find(found); ++number) {
            found = fmt::format("{}.{}", name, number);
        }
        return found;
    }

    ValueId addValue(const Value& value, const std::string& prefix)
    {
        const std::string name = prefix.empty() ? value.name : unique(prefix + value.name);
        const ValueId made = value.kind == ValueKind::Constant ? m_builder.addConstant(name, value.constant)
                             : value.kind == ValueKind::Result ? m_builder.addResult(name)
                                                               : m_builder.addInput(name, value.dtype, value.shape);
        m_builder.declare(made, value.dtype, value.shape); // also of weights that stay in their file
        if (value.facts) {
            m_builder.note(made, value.facts);
        }
        return made;
    }

    void addNode(const Node& node, std::span<const ValueId> values, const std::string& prefix)
    {
        Node copy = node;
        const auto here = [&](ValueId id) { return id.isValid() ? values[id.index()] : id; };
        std::ranges::transform(copy.inputs, copy.inputs.begin(), here);
        std::ranges::transform(copy.outputs, copy.outputs.begin(), here);
        copy.name = prefix + node.name;
        copy.scope = scopeIn(prefix, node.scope);
        const std::vector<ValueId> all = copy.inputs;
        const bool hasLengths = node.op == "Scan" && node.opset < 9; // in front of what its body takes
        const auto operands = std::span(all).subspan(hasLengths && !all.empty() ? 1 : 0);
        std::size_t around = 0; // operands that bodies alone read
        std::vector<ValueId> results;
        for (const auto& [name, attribute] : node.attributes) {
            if (const auto* inside = std::get_if<Subgraph>(&attribute)) {
                const std::vector<ValueId> made = addBody(*inside, operands, copy.name + "/" + name + "/");
                results.insert(results.end(), made.begin(), made.end());
                around = std::max(around, std::min(inside->captured, all.size()));
                copy.attributes.erase(name);
            }
        }
        copy.inputs.resize(all.size() - around);
        copy.inputs.insert(copy.inputs.end(), results.begin(), results.end());
        m_builder.addNode(std::move(copy));
    }

    /// A prefix is the path of the scope that it makes.
    static std::string scopeIn(const std::string& prefix, const std::string& scope)
    {
        return prefix.empty() ? scope : joinedScope(prefix.substr(0, prefix.size() - 1), scope);
    }

    std::vector<ValueId> addBody(const Subgraph& inside, std::span<const ValueId> operands, const std::string& prefix)
    {
        const std::span<const ValueId> inputs = inside.graph->inputs();
        const std::size_t captured = std::min({inside.captured, inputs.size(), operands.size()});
        const std::size_t own = inputs.size() - captured;
        std::vector<ValueId> given;
        for (std::size_t i = 0; i < own; ++i) {
            const bool hasOperand = i + captured < operands.size() && operands[i].isValid();
            given.push_back(addBodyInput(inside.graph->value(inputs[i]), hasOperand ? operands[i] : ValueId(), prefix));
        }
        const auto around = operands.last(captured);
        given.insert(given.end(), around.begin(), around.end());
        const std::vector<ValueId> values = addGraph(*inside.graph, given, prefix);
        std::vector<ValueId> results;
        for (const ValueId output : inside.graph->outputs()) {
            results.push_back(values[output.index()]);
        }
        return results;
    }

    ValueId addBodyInput(const Value& value, ValueId operand, const std::string& prefix)
    {
        Value made = value;
        made.kind = ValueKind::Result;
        Node node;
        node.op = "BodyInput";
        node.domain = "retrograde.shown";
        node.name = prefix + value.name;
        node.scope = scopeIn(prefix, {});
        node.inputs = operand.isValid() ? std::vector{operand} : std::vector<ValueId>();
        node.outputs = {addValue(made, prefix)};
        const ValueId output = node.outputs.front();
        m_builder.addNode(std::move(node));
        return output;
    }

    GraphBuilder m_builder;
};

} // namespace

void forEachInside(const Graph& graph, const std::function<void(const Graph&)>& take)
{
    for (const Node& node : graph.nodes()) {
        for (const auto& [name, attribute] : node.attributes) {
            if (const auto* inside = std::get_if<Subgraph>(&attribute)) {
                take(*inside->graph);
                forEachInside(*inside->graph, take);
            }
        }
    }
}

Result<std::optional<Graph>> withBodies(const Graph& graph, std::size_t most, const std::stop_token& stop)
{
    std::size_t nodes = graph.nodeCount();
    bool hasBodies = false;
    forEachInside(graph, [&](const Graph& inside) {
        hasBodies = true;
        nodes += inside.runNodeCount();
    });
    if (!hasBodies || nodes > most) {
        return std::optional<Graph>();
    }
    Writer writer(graph);
    writer.addOutputs(graph, writer.addGraph(graph, {}, {}));
    RETRO_TRY(Graph made, std::move(writer).build(stop));
    return std::optional<Graph>(std::move(made));
}

} // namespace retro::graph
