// SPDX-License-Identifier: Apache-2.0
#include "core/rewrite/draft.h"

#include "core/graph/graphbuilder.h"

#include <fmt/format.h>

#include <algorithm>

namespace retro::rewrite
{

using graph::GraphBuilder;
using graph::Node;
using graph::Value;
using graph::ValueKind;

namespace
{

std::vector<graph::Dimension> dimensionsOf(const tensor::Shape& shape)
{
    std::vector<graph::Dimension> dimensions(shape.size());
    for (std::size_t i = 0; i < shape.size(); ++i) {
        dimensions[i].extent = shape[i];
    }
    return dimensions;
}

ValueId addTo(GraphBuilder& builder, const Value& value)
{
    ValueId id;
    switch (value.kind) {
    case ValueKind::Input:
        return builder.addInput(value.name, value.dtype, value.shape);
    case ValueKind::Constant:
        id = builder.addConstant(value.name, value.constant);
        builder.declare(id, value.dtype, dimensionsOf(value.constant.shape()));
        return id;
    case ValueKind::Result:
        id = builder.addResult(value.name);
        builder.declare(id, value.dtype, value.shape);
        return id;
    }
    return id;
}

/// Adds values to a builder and knows their ids there.
class Numbering
{
public:
    Numbering(GraphBuilder& builder, const std::vector<Value>& values, const std::vector<bool>& isKept)
        : m_ids(values.size())
    {
        for (const ValueKind kind : {ValueKind::Input, ValueKind::Constant, ValueKind::Result}) {
            for (std::size_t i = 0; i < values.size(); ++i) {
                if (isKept[i] && values[i].kind == kind) {
                    m_ids[i] = addTo(builder, values[i]);
                }
            }
        }
    }
    [[nodiscard]] ValueId of(ValueId id) const { return id.isValid() ? m_ids[id.index()] : ValueId(); }
    [[nodiscard]] std::vector<ValueId> of(const std::vector<ValueId>& ids) const
    {
        std::vector<ValueId> mapped(ids.size());
        std::transform(ids.begin(), ids.end(), mapped.begin(), [this](ValueId id) { return of(id); });
        return mapped;
    }

private:
    std::vector<ValueId> m_ids;
};

} // namespace

Draft::Draft(const graph::Graph& before)
    : m_before(before), m_nodes(before.nodes().begin(), before.nodes().end()),
      m_values(before.values().begin(), before.values().end()), m_isRemoved(before.nodeCount(), false),
      m_isOutput(before.valueCount(), false), m_readers(before.valueCount(), 0)
{
    for (const ValueId output : before.outputs()) {
        m_isOutput[output.index()] = true;
    }
    for (const Node& node : m_nodes) {
        countReaders(node, 1);
    }
    for (const Value& value : m_values) {
        m_names.insert(value.name);
    }
}

bool Draft::isConstant(ValueId id) const
{
    // Graphs for planning may have left the data out.
    return id.isValid() && m_values[id.index()].kind == ValueKind::Constant && m_values[id.index()].constant.isValid();
}

void Draft::countReaders(const Node& node, int sign)
{
    for (const ValueId input : node.inputs) {
        if (input.isValid()) {
            m_readers[input.index()] += static_cast<std::size_t>(sign);
        }
    }
}

void Draft::removeNode(NodeId id)
{
    countReaders(m_nodes[id.index()], -1);
    m_isRemoved[id.index()] = true;
}

void Draft::makeConstant(ValueId id, tensor::Tensor data)
{
    Value& value = m_values[id.index()];
    value.kind = ValueKind::Constant;
    value.producer = NodeId();
    value.constant = std::move(data);
}

ValueId Draft::addConstant(const std::string& stem, tensor::Tensor data, tensor::DType declared)
{
    Value value;
    value.name = stem;
    for (int number = 2; !m_names.insert(value.name).second; ++number) {
        value.name = fmt::format("{}.{}", stem, number);
    }
    value.kind = ValueKind::Constant;
    value.dtype = declared;
    value.constant = std::move(data);
    m_values.push_back(std::move(value));
    m_isOutput.push_back(false);
    m_readers.push_back(0);
    return ValueId(m_values.size() - 1);
}

void Draft::setInputs(NodeId id, std::vector<ValueId> inputs)
{
    countReaders(m_nodes[id.index()], -1);
    m_nodes[id.index()].inputs = std::move(inputs);
    countReaders(m_nodes[id.index()], 1);
}

void Draft::setOutput(NodeId id, ValueId value)
{
    m_nodes[id.index()].outputs = {value};
    m_values[value.index()].producer = id;
    m_values[value.index()].producerOutput = 0;
}

std::size_t Draft::unusedConstants() const
{
    std::size_t count = 0;
    for (std::size_t i = 0; i < m_values.size(); ++i) {
        count += m_values[i].kind == ValueKind::Constant && !isUsed(ValueId(i)) ? 1 : 0;
    }
    return count;
}

std::vector<bool> Draft::keptValues() const
{
    std::vector<bool> isKept(m_values.size(), false);
    for (std::size_t i = 0; i < m_values.size(); ++i) {
        isKept[i] = m_values[i].kind == ValueKind::Input || isUsed(ValueId(i));
    }
    for (std::size_t i = 0; i < m_nodes.size(); ++i) {
        for (const ValueId output : m_nodes[i].outputs) {
            if (!m_isRemoved[i] && output.isValid()) {
                isKept[output.index()] = true;
            }
        }
    }
    return isKept;
}

base::Result<graph::Graph> Draft::build() const
{
    GraphBuilder builder(m_before.name());
    for (const auto& [domain, version] : m_before.opsets()) {
        builder.setOpset(domain, version);
    }
    const Numbering numbering(builder, m_values, keptValues());
    for (std::size_t i = 0; i < m_nodes.size(); ++i) {
        if (m_isRemoved[i]) {
            continue;
        }
        Node node = m_nodes[i];
        node.inputs = numbering.of(node.inputs);
        node.outputs = numbering.of(node.outputs);
        builder.addNode(std::move(node));
    }
    for (const ValueId output : m_before.outputs()) {
        builder.addOutput(numbering.of(output));
    }
    return std::move(builder).build();
}

} // namespace retro::rewrite
