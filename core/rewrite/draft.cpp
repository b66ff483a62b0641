// SPDX-License-Identifier: Apache-2.0
#include "core/rewrite/draft.h"

#include "core/base/cancel.h"
#include "core/graph/graphbuilder.h"
#include "core/ops/numbertypes.h"
#include "core/rewrite/addvalue.h"
#include "core/rewrite/genericshapes.h"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>

namespace retro::rewrite
{

using graph::GraphBuilder;
using graph::Node;
using graph::Value;
using graph::ValueKind;

namespace
{

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
                    m_ids[i] = addValue(builder, values[i], values[i].kind);
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

Draft::Draft(const graph::Graph& before, bool keepsDigits, std::stop_token stop)
    : m_before(before), m_keepsDigits(keepsDigits), m_stop(std::move(stop)), m_members(before.nodeCount()),
      m_isRemoved(before.nodeCount(), false), m_isOutput(before.valueCount(), false), m_readers(before.valueCount(), 0),
      m_shapes(std::make_shared<GenericShapes>(*this))
{
    for (const ValueId output : before.outputs()) {
        m_isOutput[output.index()] = true;
    }
    copyNodes();
    copyValues();
}

void Draft::copyNodes()
{
    m_nodes.reserve(m_before.nodeCount());
    for (const Node& node : m_before.nodes()) {
        if (m_stop.stop_requested()) {
            return;
        }
        m_nodes.push_back(node);
        countReaders(node, 1);
    }
}

void Draft::copyValues()
{
    m_values.reserve(m_before.valueCount());
    m_names.reserve(m_before.valueCount());
    const std::vector<tensor::DType> types = ops::numberTypes(m_before); // files need not say those of results
    for (const Value& value : m_before.values()) {
        if (m_stop.stop_requested()) {
            return;
        }
        const tensor::DType type = types[m_values.size()];
        m_values.push_back(value);
        m_names.insert(value.name);
        if (value.kind == ValueKind::Result && tensor::isFloating(value.dtype) && tensor::isFloating(type)) {
            m_values.back().dtype = type;
        }
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

void Draft::makeConstant(ValueId id, tensor::Tensor data, tensor::DType declared)
{
    Value& value = m_values[id.index()];
    value.kind = ValueKind::Constant;
    value.producer = NodeId();
    value.dtype = declared;
    value.constant = std::move(data);
}

tensor::Tensor Draft::kept(tensor::Tensor data, tensor::DType declared) const
{
    const bool isWider = data.dtype() == tensor::DType::Float64 && declared != tensor::DType::Float64;
    return isWider && !m_keepsDigits ? data.to(tensor::DType::Float32) : std::move(data);
}

ValueId Draft::addValueOf(const std::string& stem, Value value)
{
    value.name = stem;
    for (int number = 2; !m_names.insert(value.name).second; ++number) {
        value.name = fmt::format("{}.{}", stem, number);
    }
    m_values.push_back(std::move(value));
    m_isOutput.push_back(false);
    m_readers.push_back(0);
    return ValueId(m_values.size() - 1);
}

ValueId Draft::addConstant(const std::string& stem, tensor::Tensor data, tensor::DType declared)
{
    Value value;
    value.kind = ValueKind::Constant;
    value.dtype = declared;
    value.constant = kept(std::move(data), declared);
    return addValueOf(stem, std::move(value));
}

ValueId Draft::addResult(const std::string& stem, tensor::DType declared)
{
    Value value;
    value.dtype = declared;
    return addValueOf(stem, std::move(value));
}

ValueId Draft::addResultLike(const std::string& stem, tensor::DType declared, ValueId like)
{
    Value value;
    value.dtype = declared;
    value.shape = m_values[like.index()].shape;
    return addValueOf(stem, std::move(value));
}

NodeId Draft::addNode(Node node)
{
    m_nodes.push_back(std::move(node));
    m_members.emplace_back();
    m_isRemoved.push_back(false);
    const NodeId id{m_nodes.size() - 1};
    countReaders(m_nodes.back(), 1);
    takeOutputs(id);
    return id;
}

void Draft::replaceNode(NodeId id, Node node)
{
    countReaders(m_nodes[id.index()], -1);
    m_nodes[id.index()] = std::move(node);
    countReaders(m_nodes[id.index()], 1);
    takeOutputs(id);
}

void Draft::takeOutputs(NodeId id)
{
    const Node& node = m_nodes[id.index()];
    for (std::size_t k = 0; k < node.outputs.size(); ++k) {
        if (!node.outputs[k].isValid()) {
            continue;
        }
        Value& value = m_values[node.outputs[k].index()];
        value.producer = id;
        value.producerOutput = static_cast<std::uint32_t>(k);
    }
}

void Draft::fuse(NodeId survivor, Node replacement, std::span<const NodeId> members)
{
    std::vector<Node> kept;
    for (const NodeId id : members) {
        std::vector<Node>& inner = m_members[id.index()];
        const bool isWritten = m_nodes[id.index()].written != nullptr; // it keeps them itself
        if (inner.empty() || isWritten) {
            kept.push_back(m_nodes[id.index()]);
            inner.clear();
        }
        std::move(inner.begin(), inner.end(), std::back_inserter(kept));
        inner.clear();
    }
    m_members[survivor.index()] = std::move(kept);
    for (const NodeId id : members) {
        removeNode(id);
    }
    m_isRemoved[survivor.index()] = false;
    m_nodes[survivor.index()] = std::move(replacement);
    m_nodes[survivor.index()].facts.reset(); // measured for one member
    m_nodes[survivor.index()].written.reset();
    countReaders(m_nodes[survivor.index()], 1);
    takeOutputs(survivor);
}

void Draft::redirect(const std::vector<ValueId>& to)
{
    for (std::size_t i = 0; i < m_nodes.size(); ++i) {
        if (m_isRemoved[i]) {
            continue;
        }
        countReaders(m_nodes[i], -1);
        for (ValueId& input : m_nodes[i].inputs) {
            if (input.isValid() && input.index() < to.size() && to[input.index()].isValid()) {
                input = to[input.index()];
            }
        }
        countReaders(m_nodes[i], 1);
    }
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
    builder.setOpsets(m_before);
    const Numbering numbering(builder, m_values, keptValues());
    for (std::size_t i = 0; i < m_nodes.size(); ++i) {
        RETRO_CHECK(base::checkStop(m_stop));
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
    return std::move(builder).build(m_stop);
}

} // namespace retro::rewrite
