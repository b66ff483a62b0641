// SPDX-License-Identifier: Apache-2.0
#include "core/engine/compare/comparedvalues.h"

#include "core/engine/results/results.h"

#include <algorithm>
#include <set>

namespace retro::engine
{

using base::NodeId;
using base::ValueId;

ComparedValues::ComparedValues(const ComparedSide& side, const graph::Graph& leading, bool byPosition)
    : m_side(side), m_leading(leading), m_byPosition(byPosition)
{
    const auto isRule = [](const trace::NodeRule& rule) { return !rule.rule.empty(); };
    if (side.run) {
        m_relevance = finalRelevance(*side.run);
        m_knowsRules = std::ranges::any_of(side.run->rules, isRule);
        noteArrivals();
    } else {
        m_fileNames = fileNames(leading);
        m_knowsRules = std::ranges::any_of(side.rules, isRule);
    }
}

void ComparedValues::noteArrivals()
{
    const graph::Graph& graph = *m_side.run->graph;
    m_arrived.resize(graph.valueCount());
    for (const event::Event& event : m_side.run->events) {
        if (event.kind != event::EventKind::Relevance) {
            continue;
        }
        const auto outputs = graph.outputsOf(NodeId(event.node));
        if (event.slot < outputs.size() && outputs[event.slot].isValid()) {
            m_arrived[outputs[event.slot].index()] = true;
        }
    }
}

tensor::Tensor ComparedValues::of(ValueId value) const
{
    if (!m_side.run) {
        const auto exact = m_side.tensors.find(m_leading.value(value).name);
        const auto found = exact != m_side.tensors.end() ? exact : m_side.tensors.find(m_fileNames[value.index()]);
        return found == m_side.tensors.end() ? tensor::Tensor() : found->second;
    }
    if (m_byPosition) {
        return m_relevance[value.index()];
    }
    const auto own = m_side.run->graph->findValue(m_leading.value(value).name);
    return own ? m_relevance[own->index()] : tensor::Tensor();
}

bool ComparedValues::mayCarry(ValueId value) const
{
    if (!m_side.run) {
        return true;
    }
    const auto own = m_byPosition ? std::optional(value) : m_side.run->graph->findValue(m_leading.value(value).name);
    return !own || m_arrived[own->index()];
}

std::string ComparedValues::rule(NodeId node) const
{
    const trace::NodeRule* found = ruleOf(node);
    return found == nullptr ? std::string() : found->rule;
}

std::string ComparedValues::structure(NodeId node) const
{
    const trace::NodeRule* found = ruleOf(node);
    return found == nullptr ? std::string() : found->structure;
}

const trace::NodeRule* ComparedValues::ruleOf(NodeId node) const
{
    const std::vector<trace::NodeRule>& rules = m_side.run ? m_side.run->rules : m_side.rules;
    const std::optional<NodeId> own = m_byPosition || !m_side.run ? std::optional(node) : byOutput(node);
    return own && own->index() < rules.size() ? &rules[own->index()] : nullptr;
}

// The node that makes the value of the same name.
std::optional<NodeId> ComparedValues::byOutput(NodeId node) const
{
    const graph::Graph& graph = *m_side.run->graph;
    for (const ValueId output : m_leading.node(node).outputs) {
        const auto own = output.isValid() ? graph.findValue(m_leading.value(output).name) : std::optional<ValueId>();
        const NodeId maker = own ? graph.nodeOf(*own) : NodeId();
        if (maker.isValid() && !graph.isInput(maker)) {
            return maker;
        }
    }
    return std::nullopt;
}

std::optional<ValueId> ComparedValues::start() const
{
    const ValueId target = m_side.run ? m_side.run->facts.targetValue : ValueId();
    if (!target.isValid() || target.index() >= m_side.run->graph->valueCount()) {
        return std::nullopt;
    }
    return m_byPosition ? target : m_leading.findValue(m_side.run->graph->value(target).name);
}

std::vector<std::string> ComparedValues::unmatched() const
{
    const std::set<std::string, std::less<>> files(m_fileNames.begin(), m_fileNames.end());
    std::vector<std::string> names = m_side.unmatched;
    for (const auto& [name, tensor] : m_side.tensors) {
        if (!m_leading.findValue(name) && files.count(name) == 0) {
            names.push_back(name);
        }
    }
    return names;
}

} // namespace retro::engine
