// SPDX-License-Identifier: Apache-2.0
#include "core/engine/compare/parting.h"

#include "core/lrp/rules/ruleformulas.h"

#include <algorithm>
#include <set>

namespace retro::engine
{

using base::NodeId;
using base::ValueId;

PartingSearch::PartingSearch(const graph::Graph& graph, const ComparedValues& a, const ComparedValues& b)
    : m_graph(graph), m_a(a), m_b(b), m_leads(graph.valueCount(), false)
{
    for (const ComparedValues* side : {&a, &b}) {
        if (const auto start = side->start()) {
            m_starts.push_back(*start);
        }
    }
    if (m_starts.empty()) { // a run that does not say it: one from before it was written down
        m_starts.assign(graph.outputs().begin(), graph.outputs().end());
    }
    for (const ValueId start : m_starts) {
        m_leads[start.index()] = true;
    }
    for (std::size_t i = graph.nodeCount(); i-- > 0;) {
        markOperands(graph.node(NodeId(i)));
    }
}

void PartingSearch::markOperands(const graph::Node& node)
{
    const auto leads = [this](ValueId value) { return value.isValid() && m_leads[value.index()]; };
    if (!std::ranges::any_of(node.outputs, leads)) {
        return;
    }
    for (const ValueId input : node.inputs) {
        if (input.isValid()) {
            m_leads[input.index()] = true;
        }
    }
}

bool PartingSearch::isStart(ValueId value) const { return std::ranges::find(m_starts, value) != m_starts.end(); }

bool PartingSearch::isOnTheWay(ValueId value) const
{
    return value.isValid() && m_leads[value.index()] && (m_a.mayCarry(value) || m_b.mayCarry(value));
}

bool PartingSearch::handsOn(NodeId node) const
{
    const auto mayPass = [node](const ComparedValues& side) { return !side.knowsRules() || !side.rule(node).empty(); };
    // A side of tensors alone knows nothing of which nodes pass relevance; the other one does.
    const bool passes =
        m_a.knowsRules() && m_b.knowsRules() ? mayPass(m_a) || mayPass(m_b) : mayPass(m_a) && mayPass(m_b);
    return passes &&
           std::ranges::any_of(m_graph.node(node).outputs, [this](ValueId output) { return isOnTheWay(output); });
}

PartingNode PartingSearch::describe(NodeId id) const
{
    PartingNode node{id, m_graph.labelOf(id), std::string(m_graph.opOf(id)), m_a.rule(id), m_b.rule(id), {}, {}};
    const std::string known = m_a.structure(id);
    const std::string structure = known.empty() ? m_b.structure(id) : known;
    node.formulaA = lrp::formulaOf(node.ruleA, structure);
    node.formulaB = lrp::formulaOf(node.ruleB, structure);
    return node;
}

/// From a value up to the nearest ones that are compared.
class PartingSearch::Walk
{
public:
    Walk(const PartingSearch& search, const std::vector<bool>& isCompared, Parting& parting)
        : m_search(search), m_isCompared(isCompared), m_parting(parting)
    {}

    void run(ValueId from)
    {
        m_waiting.push_back(from);
        while (!m_waiting.empty()) {
            const ValueId value = m_waiting.back();
            m_waiting.pop_back();
            for (const graph::Use& use : m_search.m_graph.uses(value)) {
                if (m_search.handsOn(use.node) && m_nodes.insert(use.node.index()).second) {
                    climb(use.node);
                }
            }
        }
        tell();
    }

private:
    void climb(NodeId node)
    {
        for (const ValueId output : m_search.m_graph.node(node).outputs) {
            if (!m_search.isOnTheWay(output)) {
                continue;
            }
            if (m_isCompared[output.index()]) {
                m_agreeing.insert(output.index());
                continue;
            }
            m_parting.isNarrowed = false;
            if (m_search.isStart(output)) {
                m_parting.unknownStart = m_search.m_graph.value(output).name;
            }
            m_waiting.push_back(output);
        }
    }

    // From the target on: nodes are sorted, and mostly so are the values that they make.
    void tell()
    {
        for (auto node = m_nodes.rbegin(); node != m_nodes.rend(); ++node) {
            m_parting.nodes.push_back(m_search.describe(NodeId(*node)));
        }
        for (auto value = m_agreeing.rbegin(); value != m_agreeing.rend(); ++value) {
            m_parting.agreeing.push_back(m_search.m_graph.value(ValueId(*value)).name);
        }
    }

    const PartingSearch& m_search;
    const std::vector<bool>& m_isCompared;
    Parting& m_parting;
    std::vector<ValueId> m_waiting;
    std::set<std::size_t> m_nodes;
    std::set<std::size_t> m_agreeing;
};

Parting PartingSearch::from(const ValueDifference& difference, const std::vector<bool>& isCompared) const
{
    Parting parting;
    parting.value = difference;
    parting.isStart = isStart(difference.value);
    if (!parting.isStart) {
        Walk(*this, isCompared, parting).run(difference.value);
    }
    std::ranges::stable_partition(parting.nodes, [](const PartingNode& node) { return node.ruleA != node.ruleB; });
    return parting;
}

} // namespace retro::engine
