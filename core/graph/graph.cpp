// SPDX-License-Identifier: Apache-2.0
#include "core/graph/graph.h"

#include <algorithm>

namespace retro::graph
{

const Value Graph::kNoValue;

std::span<const Use> Graph::uses(ValueId id) const
{
    if (!id.isValid()) {
        return {};
    }
    const std::size_t begin = id.index() == 0 ? 0 : m_useEnd[id.index() - 1];
    return std::span(m_uses).subspan(begin, m_useEnd[id.index()] - begin);
}

NodeId Graph::inputNode(ValueId value) const
{
    const auto at = std::find(m_inputs.begin(), m_inputs.end(), value);
    return at == m_inputs.end() ? NodeId() : NodeId(m_nodes.size() + static_cast<std::size_t>(at - m_inputs.begin()));
}

NodeId Graph::nodeOf(ValueId value) const
{
    const Value& v = this->value(value);
    return v.kind == ValueKind::Input ? inputNode(value) : v.producer;
}

std::span<const ValueId> Graph::outputsOf(NodeId id) const
{
    if (isInput(id)) {
        return std::span(m_inputs).subspan(id.index() - m_nodes.size(), 1);
    }
    return m_nodes[id.index()].outputs;
}

ValueId Graph::firstOutput(NodeId id) const
{
    const std::span<const ValueId> outputs = outputsOf(id);
    const auto found = std::ranges::find_if(outputs, &ValueId::isValid);
    return found == outputs.end() ? ValueId() : *found;
}

const std::string& Graph::labelOf(NodeId id) const
{
    return isInput(id) ? value(outputsOf(id)[0]).name : m_nodes[id.index()].name;
}

std::string_view Graph::opOf(NodeId id) const
{
    return isInput(id) ? "Input" : std::string_view(m_nodes[id.index()].op);
}

std::string_view Graph::scopeOf(NodeId id) const
{
    return isInput(id) ? std::string_view() : std::string_view(m_nodes[id.index()].scope);
}

std::optional<ValueId> Graph::findValue(std::string_view name) const
{
    const auto at = m_valueByName.find(name);
    return at == m_valueByName.end() ? std::nullopt : std::optional(ValueId(at->second));
}

std::optional<NodeId> Graph::findNode(std::string_view name) const
{
    const auto at = m_nodeByName.find(name);
    return at == m_nodeByName.end() ? std::nullopt : std::optional(NodeId(at->second));
}

} // namespace retro::graph
