// SPDX-License-Identifier: Apache-2.0
#include "core/rewrite/addvalue.h"
#include "core/rewrite/draft.h"

#include <map>

namespace retro::rewrite
{

namespace
{

/// Values of a draft in the graph of a fused node's members.
class MemberValues
{
public:
    MemberValues(const Draft& draft, graph::GraphBuilder& builder) : m_draft(draft), m_builder(builder) {}

    void addMade(const graph::Node& node)
    {
        for (const ValueId id : node.outputs) {
            if (id.isValid()) {
                m_ids.emplace(id.index(), addValue(m_builder, m_draft.value(id), graph::ValueKind::Result));
            }
        }
    }
    /// What no member makes is a constant, or an operand of the fused node: an input.
    void addRead(const graph::Node& node)
    {
        for (const ValueId id : node.inputs) {
            if (id.isValid() && !m_ids.contains(id.index())) {
                const auto kind = m_draft.isConstant(id) ? graph::ValueKind::Constant : graph::ValueKind::Input;
                m_ids.emplace(id.index(), addValue(m_builder, m_draft.value(id), kind));
            }
        }
    }
    /// An operand of the fused node. Of one that it has twice, members read the first.
    void addInput(ValueId id, std::size_t slot)
    {
        graph::Value value = m_draft.value(id);
        value.name += m_ids.contains(id.index()) ? "/operand " + std::to_string(slot) : std::string();
        m_ids.emplace(id.index(), addValue(m_builder, value, graph::ValueKind::Input));
    }
    void renumber(std::vector<ValueId>& ids) const
    {
        for (ValueId& id : ids) {
            id = id.isValid() ? m_ids.at(id.index()) : id;
        }
    }

private:
    const Draft& m_draft;
    graph::GraphBuilder& m_builder;
    std::map<std::size_t, ValueId> m_ids;
};

} // namespace

base::Result<graph::Graph> Draft::membersOf(NodeId id) const { return membersOf(id, {}); }

bool Draft::keepWritten(NodeId id)
{
    std::vector<ValueId> operands = m_nodes[id.index()].inputs;
    std::erase_if(operands, [](ValueId input) { return !input.isValid(); });
    base::Result<graph::Graph> members = membersOf(id, operands);
    const bool isWhole = members.ok() && members->inputs().size() == operands.size();
    if (isWhole) {
        m_nodes[id.index()].written = std::make_shared<const graph::Graph>(std::move(members).value());
    }
    return isWhole;
}

/// `inputs` are the first inputs of it, whether they are read or not.
base::Result<graph::Graph> Draft::membersOf(NodeId id, std::span<const ValueId> inputs) const
{
    graph::GraphBuilder builder(m_nodes[id.index()].name);
    builder.setOpsets(m_before);
    MemberValues values(*this, builder);
    for (std::size_t slot = 0; slot < inputs.size(); ++slot) {
        values.addInput(inputs[slot], slot);
    }
    for (const graph::Node& member : m_members[id.index()]) {
        values.addMade(member);
    }
    for (graph::Node member : m_members[id.index()]) {
        values.addRead(member);
        values.renumber(member.inputs);
        values.renumber(member.outputs);
        builder.addNode(std::move(member));
    }
    std::vector<ValueId> outputs = m_nodes[id.index()].outputs;
    values.renumber(outputs);
    for (const ValueId output : outputs) {
        builder.addOutput(output);
    }
    return std::move(builder).build();
}

} // namespace retro::rewrite
