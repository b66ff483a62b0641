// SPDX-License-Identifier: Apache-2.0
#include "core/engine/plan/passsubject.h"

#include "core/execute/reachedvalues.h"
#include "core/lrp/rules/gradientorder.h"
#include "core/lrp/rules/gradientparts.h"
#include "core/lrp/rules/nodeform.h"
#include "core/lrp/rules/ruleapplication.h"

#include <algorithm>

namespace retro::engine
{

using base::NodeId;
using base::Result;
using base::ValueId;

PassSubject PassSubject::gradient(std::shared_ptr<const execute::BoundModel> model, std::vector<ValueId> targets,
                                  std::span<const ValueId> wanted)
{
    PassSubject subject(analysis::JointKind::Gradient, std::move(model), std::move(targets));
    if (!wanted.empty()) {
        subject.m_reached = std::make_shared<const std::vector<bool>>(execute::reachedValues(*subject.m_model, wanted));
    }
    return subject;
}

Result<PassSubject> PassSubject::relevance(std::shared_ptr<const execute::BoundModel> model,
                                           std::vector<ValueId> targets,
                                           std::shared_ptr<const lrp::RuleAssignment> rules)
{
    RETRO_TRY(lrp::TraversalGraph graph, lrp::TraversalGraph::build(*model, targets, lrp::edgeOrder(*rules)));
    return relevance(std::move(model), std::move(targets), std::move(rules),
                     std::make_shared<const lrp::TraversalGraph>(std::move(graph)));
}

PassSubject PassSubject::relevance(std::shared_ptr<const execute::BoundModel> model, std::vector<ValueId> targets,
                                   std::shared_ptr<const lrp::RuleAssignment> rules,
                                   std::shared_ptr<const lrp::TraversalGraph> graph)
{
    PassSubject subject(analysis::JointKind::Relevance, std::move(model), std::move(targets));
    subject.m_rules = std::move(rules);
    subject.m_graph = std::move(graph);
    return subject;
}

bool PassSubject::carries(ValueId value) const
{
    if (!value.isValid() || !m_model->isTracked(value)) {
        return false;
    }
    if (m_graph) {
        return m_graph->contains(m_model->graph().nodeOf(value));
    }
    const bool isReached = !m_reached || (*m_reached)[value.index()];
    return isReached && tensor::isFloating(m_model->typeOf(value).dtype);
}

std::vector<std::uint8_t> PassSubject::wantedSlots(NodeId node) const
{
    if (m_graph) {
        return m_graph->contains(node) ? lrp::trackedSlots(*m_graph, node)
                                       : std::vector<std::uint8_t>(m_model->graph().node(node).inputs.size(), 0);
    }
    std::vector<std::uint8_t> wanted;
    for (const ValueId operand : m_model->graph().node(node).inputs) {
        wanted.push_back(carries(operand) ? 1 : 0);
    }
    return wanted;
}

ops::Reads PassSubject::reads(NodeId node, std::span<const std::uint8_t> slots) const
{
    if (!m_graph) {
        return lrp::gradientReads(m_model->op(node), slots);
    }
    // A rule is applied once for all operands: what it reads does not depend on the slots.
    const lrp::RulePointer& rule = (*m_rules)[node.index()].rule;
    return rule ? rule->reads(m_model->op(node), lrp::trackedSlots(*m_graph, node)) : ops::Reads::nothing();
}

bool PassSubject::stopsAt(NodeId node) const
{
    if (!m_graph) {
        return false;
    }
    const lrp::RulePointer& rule = (*m_rules)[node.index()].rule;
    const auto form = rule ? rule->form(m_model->op(node), lrp::trackedSlots(*m_graph, node)) : std::nullopt;
    return !rule || (form && form->way == lrp::Way::Nowhere);
}

/// The value whose gradient (relevance) the part of a slot is added to: tokens pass theirs to the input that they are.
ValueId PassSubject::receiverOf(NodeId node, std::size_t slot) const
{
    const graph::Graph& graph = m_model->graph();
    if (!m_graph) {
        return graph.node(node).inputs[slot];
    }
    const lrp::ChildSlot& child = m_graph->children(node)[slot];
    return graph.outputsOf(child.child)[child.output];
}

std::uint64_t PassSubject::workspace(NodeId node, std::span<const std::uint8_t> slots) const
{
    const ops::BoundOperator& op = m_model->op(node);
    std::uint64_t most = 0;
    for (std::size_t slot = 0; slot < slots.size(); ++slot) {
        if (slots[slot] != 0) {
            most = std::max(most, m_graph ? (*m_rules)[node.index()].rule->workspace(op, slot)
                                          : op.workspace(ops::Work::Reverse, slot));
        }
    }
    return most;
}

std::vector<analysis::NodePart> PassSubject::parts(NodeId node) const
{
    std::vector<analysis::NodePart> found;
    const std::vector<std::uint8_t> wanted = wantedSlots(node);
    std::vector<std::vector<std::uint8_t>> slots;
    for (std::size_t slot = 0; slot < wanted.size() && !stopsAt(node); ++slot) {
        if (wanted[slot] == 0) {
            continue;
        }
        const ValueId receiver = receiverOf(node, slot);
        const auto same = std::ranges::find(found, receiver, &analysis::NodePart::operand);
        if (same == found.end()) {
            found.push_back({receiver, {}});
            slots.emplace_back(wanted.size(), 0);
            slots.back()[slot] = 1;
        } else {
            slots[static_cast<std::size_t>(same - found.begin())][slot] = 1;
        }
    }
    for (std::size_t i = 0; i < found.size(); ++i) {
        found[i].reads = reads(node, slots[i]);
        found[i].workspace = workspace(node, m_graph ? wanted : slots[i]); // as in reads()
    }
    return found;
}

ops::Reads PassSubject::parameterReads(NodeId node) const
{
    const graph::Graph& graph = m_model->graph();
    std::vector<std::uint8_t> constants;
    for (const ValueId operand : graph.node(node).inputs) {
        const bool isParameter = operand.isValid() && graph.value(operand).kind == graph::ValueKind::Constant &&
                                 tensor::isFloating(graph.value(operand).dtype);
        constants.push_back(isParameter ? 1 : 0);
    }
    return lrp::parameterReads(m_model->op(node), constants);
}

} // namespace retro::engine
