// SPDX-License-Identifier: Apache-2.0
#include "core/graph/graphbuilder.h"

#include "core/base/cancel.h"
#include "core/graph/dimensions.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <queue>
#include <string_view>
#include <unordered_set>

namespace retro::graph
{

using base::inputError;
using base::Result;

namespace
{

/// False for operators whose first output may be left out, and for those of domains that are not known.
bool mustMakeFirst(const Node& node)
{
    constexpr std::array<std::string_view, 7> kMayLeaveOut{
        "DynamicQuantizeLSTM", "GRU", "If", "LSTM", "Loop", "RNN", "Scan"};
    const bool isKnown = node.domain.empty() || node.domain == "ai.onnx.ml" || node.domain == "com.microsoft" ||
                         node.domain == "retrograde";
    return isKnown && std::ranges::find(kMayLeaveOut, node.op) == kMayLeaveOut.end();
}

std::string placeOf(const Node& node) { return "node '" + node.name + "' (" + node.op + ")"; }

Result<void> connectOutputs(const Node& node, NodeId id, std::vector<Value>& values)
{
    for (std::size_t k = 0; k < node.outputs.size(); ++k) {
        if (!node.outputs[k].isValid()) {
            continue;
        }
        Value& value = values[node.outputs[k].index()];
        if (value.kind != ValueKind::Result || value.producer.isValid()) {
            return inputError("two nodes (or a node and an input) produce the same value '" + value.name + "'",
                              placeOf(node));
        }
        value.producer = id;
        value.producerOutput = static_cast<std::uint32_t>(k);
    }
    return {};
}

/// Who reads what a node makes, and how many of its operands still have to be made.
struct Readers
{
    std::vector<std::vector<std::uint32_t>> of; ///< by producing node; a reader stands once per operand
    std::vector<std::uint32_t> missing;         ///< by node
};

Result<Readers> readersOf(const std::vector<Node>& nodes, const std::vector<Value>& values)
{
    Readers readers{std::vector<std::vector<std::uint32_t>>(nodes.size()), std::vector<std::uint32_t>(nodes.size(), 0)};
    const auto add = [&](std::size_t reader, const Value& value) -> Result<void> {
        if (value.kind == ValueKind::Result && !value.producer.isValid()) {
            return inputError("it reads the value '" + value.name + "', which no node, input or initializer provides",
                              placeOf(nodes[reader]));
        }
        if (value.producer.isValid()) {
            readers.of[value.producer.index()].push_back(static_cast<std::uint32_t>(reader));
            ++readers.missing[reader];
        }
        return {};
    };
    for (std::size_t i = 0; i < nodes.size(); ++i) {
        for (const ValueId input : nodes[i].inputs) {
            if (input.isValid()) {
                RETRO_CHECK(add(i, values[input.index()]));
            }
        }
    }
    return readers;
}

/// Producers before readers, else in the given order; nodes on a cycle are left out. Counts `missing` down.
std::vector<std::uint32_t> sortedOrder(Readers& readers)
{
    std::priority_queue<std::uint32_t, std::vector<std::uint32_t>, std::greater<>> ready;
    for (std::size_t i = 0; i < readers.missing.size(); ++i) {
        if (readers.missing[i] == 0) {
            ready.push(static_cast<std::uint32_t>(i));
        }
    }
    std::vector<std::uint32_t> order;
    order.reserve(readers.missing.size());
    while (!ready.empty()) {
        const std::uint32_t i = ready.top();
        ready.pop();
        order.push_back(i);
        for (const std::uint32_t reader : readers.of[i]) {
            if (--readers.missing[reader] == 0) {
                ready.push(reader);
            }
        }
    }
    return order;
}

} // namespace

ValueId GraphBuilder::addValue(Value value)
{
    const ValueId id(m_graph.m_values.size());
    if (!m_byName.emplace(value.name, id.value).second && m_duplicate.empty()) {
        m_duplicate = value.name;
    }
    m_graph.m_values.push_back(std::move(value));
    return id;
}

ValueId GraphBuilder::addInput(std::string name, tensor::DType dtype, std::optional<std::vector<Dimension>> shape)
{
    Value value;
    value.name = std::move(name);
    value.kind = ValueKind::Input;
    value.dtype = dtype;
    value.shape = std::move(shape);
    const ValueId id = addValue(std::move(value));
    m_graph.m_inputs.push_back(id);
    return id;
}

ValueId GraphBuilder::addInput(std::string name, tensor::DType dtype, const tensor::Shape& shape)
{
    return addInput(std::move(name), dtype, std::optional(dimensionsOf(shape)));
}

ValueId GraphBuilder::addConstant(std::string name, tensor::Tensor data)
{
    Value value;
    value.name = std::move(name);
    value.kind = ValueKind::Constant;
    value.dtype = data.dtype();
    value.shape = dimensionsOf(data.shape());
    value.constant = std::move(data);
    return addValue(std::move(value));
}

ValueId GraphBuilder::addResult(std::string name)
{
    Value value;
    value.name = std::move(name);
    return addValue(std::move(value));
}

std::size_t GraphBuilder::addNode(Node node)
{
    m_graph.m_nodes.push_back(std::move(node));
    return m_graph.m_nodes.size() - 1;
}

ValueId GraphBuilder::addOp(std::string op, std::string name, std::vector<ValueId> inputs, std::string result,
                            Attributes attributes)
{
    const ValueId made = addResult(std::move(result));
    const std::int64_t opset = m_graph.m_opsets.at("");
    addNode({std::move(op), "", std::move(name), "", opset, std::move(inputs), {made}, std::move(attributes)});
    return made;
}

void GraphBuilder::declare(ValueId value, tensor::DType dtype, std::optional<std::vector<Dimension>> shape)
{
    m_graph.m_values[value.index()].dtype = dtype;
    m_graph.m_values[value.index()].shape = std::move(shape);
}

std::optional<ValueId> GraphBuilder::find(std::string_view name) const
{
    const auto at = m_byName.find(std::string(name));
    return at == m_byName.end() ? std::nullopt : std::optional(ValueId(at->second));
}

Result<Graph> GraphBuilder::build(const std::stop_token& stop) &&
{
    if (!m_duplicate.empty()) {
        return inputError("two values have this name; names of values must be unique in a graph",
                          "value '" + m_duplicate + "'");
    }
    if (m_graph.m_nodes.size() > kMaxNodes) {
        return inputError(
            fmt::format("the graph has {} nodes; at most {} are read", m_graph.m_nodes.size(), kMaxNodes));
    }
    if (m_graph.m_outputs.empty()) {
        return inputError("the graph has no output, so there is nothing to explain");
    }
    RETRO_CHECK(base::checkStop(stop));
    nameNodes();
    RETRO_CHECK(base::checkStop(stop));
    RETRO_CHECK(completeOutputs());
    RETRO_CHECK(connectProducers());
    RETRO_CHECK(base::checkStop(stop));
    RETRO_CHECK(sortNodes());
    RETRO_CHECK(base::checkStop(stop));
    indexUses();
    RETRO_CHECK(base::checkStop(stop));
    indexNames();
    return std::move(m_graph);
}

void GraphBuilder::indexNames()
{
    m_graph.m_valueByName.reserve(m_graph.m_values.size());
    for (std::size_t i = 0; i < m_graph.m_values.size(); ++i) {
        m_graph.m_valueByName.emplace(m_graph.m_values[i].name, static_cast<std::uint32_t>(i));
    }
    m_graph.m_nodeByName.reserve(m_graph.m_nodes.size());
    for (std::size_t i = 0; i < m_graph.m_nodes.size(); ++i) {
        m_graph.m_nodeByName.emplace(m_graph.m_nodes[i].name, static_cast<std::uint32_t>(i));
    }
}

void GraphBuilder::nameNodes()
{
    std::unordered_set<std::string> taken;
    for (const Node& node : m_graph.m_nodes) {
        taken.insert(node.name);
    }
    std::unordered_set<std::string> seen;
    for (std::size_t i = 0; i < m_graph.m_nodes.size(); ++i) {
        std::string& name = m_graph.m_nodes[i].name;
        if (!name.empty() && seen.insert(name).second) {
            continue;
        }
        const std::string stem = name.empty() ? m_graph.m_nodes[i].op : name;
        std::size_t number = i;
        do {
            name = fmt::format("{}_{}", stem, number++);
        } while (taken.contains(name) || seen.contains(name));
        seen.insert(name);
    }
}

Result<void> GraphBuilder::completeOutputs()
{
    for (std::size_t i = 0; i < m_graph.m_nodes.size(); ++i) {
        const Node& node = m_graph.m_nodes[i];
        if (node.domain.empty() && node.op == "Split") {
            nameOutputs(i);
        } else if (!node.outputs.empty() && !node.outputs[0].isValid() && mustMakeFirst(node)) {
            return inputError("its first output has no name, but this operator must make it; name it", placeOf(node));
        }
    }
    return {};
}

void GraphBuilder::nameOutputs(std::size_t at)
{
    for (std::size_t k = 0; k < m_graph.m_nodes[at].outputs.size(); ++k) {
        if (m_graph.m_nodes[at].outputs[k].isValid()) {
            continue;
        }
        std::string name = fmt::format("{}/part {}", m_graph.m_nodes[at].name, k);
        while (m_byName.contains(name)) {
            name += '~';
        }
        m_graph.m_nodes[at].outputs[k] = addResult(std::move(name));
    }
}

Result<void> GraphBuilder::connectProducers()
{
    for (Value& value : m_graph.m_values) {
        value.producer = NodeId();
    }
    for (std::size_t i = 0; i < m_graph.m_nodes.size(); ++i) {
        RETRO_CHECK(connectOutputs(m_graph.m_nodes[i], NodeId(i), m_graph.m_values));
    }
    return {};
}

Result<void> GraphBuilder::sortNodes()
{
    RETRO_TRY(Readers readers, readersOf(m_graph.m_nodes, m_graph.m_values));
    const std::vector<std::uint32_t> order = sortedOrder(readers);
    if (order.size() != m_graph.m_nodes.size()) {
        const auto stuck = std::find_if(readers.missing.begin(), readers.missing.end(), [](auto m) { return m > 0; });
        const auto at = static_cast<std::size_t>(stuck - readers.missing.begin());
        return inputError("the graph has a cycle through this node", placeOf(m_graph.m_nodes[at]));
    }
    std::vector<Node> sorted;
    sorted.reserve(order.size());
    for (const std::uint32_t i : order) {
        sorted.push_back(std::move(m_graph.m_nodes[i]));
    }
    m_graph.m_nodes = std::move(sorted);
    return connectProducers();
}

void GraphBuilder::indexUses()
{
    std::vector<std::uint32_t> counts(m_graph.m_values.size(), 0);
    const auto forEachUse = [this](auto&& visit) {
        for (std::size_t i = 0; i < m_graph.m_nodes.size(); ++i) {
            const std::vector<ValueId>& inputs = m_graph.m_nodes[i].inputs;
            for (std::size_t slot = 0; slot < inputs.size(); ++slot) {
                if (inputs[slot].isValid()) {
                    visit(inputs[slot], NodeId(i), static_cast<std::uint32_t>(slot));
                }
            }
        }
    };
    forEachUse([&](ValueId value, NodeId, std::uint32_t) { ++counts[value.index()]; });
    m_graph.m_useEnd.resize(counts.size());
    std::uint32_t total = 0;
    for (std::size_t i = 0; i < counts.size(); ++i) {
        const std::uint32_t begin = total;
        total += counts[i];
        counts[i] = begin;
        m_graph.m_useEnd[i] = total;
    }
    m_graph.m_uses.resize(total);
    forEachUse([&](ValueId value, NodeId node, std::uint32_t slot) {
        m_graph.m_uses[counts[value.index()]++] = {node, slot};
    });
}

} // namespace retro::graph
