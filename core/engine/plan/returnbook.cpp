// SPDX-License-Identifier: Apache-2.0
#include "core/engine/plan/returnbook.h"

#include "core/lrp/rules/ruleapplication.h"

#include <algorithm>

namespace retro::engine
{

using base::NodeId;
using base::ValueId;
using event::Event;
using event::EventKind;
using trace::ReturnWay;

namespace
{
constexpr std::uint32_t kNowhere = std::numeric_limits<std::uint32_t>::max();
}

ReturnBook::ReturnBook(const execute::BoundModel& model, const lrp::RuleAssignment& rules,
                       const lrp::TraversalGraph& graph, const execute::SavePlan& saved,
                       std::vector<trace::DroppedValue> dropped)
    : m_model(model), m_rules(rules), m_graph(graph), m_saved(saved), m_dropped(std::move(dropped)),
      m_at(model.graph().valueCount(), kNowhere)
{
    for (std::size_t i = 0; i < m_dropped.size(); ++i) {
        m_at[m_dropped[i].value.index()] = static_cast<std::uint32_t>(i);
    }
}

bool ReturnBook::isDropped(ValueId value) const
{
    return value.isValid() && m_at[value.index()] != kNowhere && !m_saved.keeps(value);
}

void ReturnBook::add(ValueId value, trace::ValueReturn back)
{
    m_dropped[m_at[value.index()]].returns.push_back(std::move(back));
}

void ReturnBook::take(const Event& event, std::uint32_t visit)
{
    switch (event.kind) {
    case EventKind::NewPromise:
        m_starts.resize(std::max<std::size_t>(m_starts.size(), event.promise + std::size_t{1}));
        m_starts[event.promise] = NodeId(event.node);
        break;
    case EventKind::Record:
        m_branches[{event.promise, event.branch}].crossed.emplace_back(event.node);
        break;
    case EventKind::AddChild:
        m_branches[{event.promise, event.branch}].child = event.other;
        break;
    case EventKind::Arg:
        takeArgument(event, visit);
        break;
    case EventKind::Rule:
        takeRule(NodeId(event.node), visit);
        break;
    default:
        break;
    }
}

ValueId ReturnBook::droppedArgument(const Event& event) const
{
    if (event.kind != EventKind::Arg || event.promise >= m_starts.size()) {
        return {};
    }
    const NodeId start = m_starts[event.promise];
    const graph::Graph& graph = m_model.graph();
    if (!start.isValid() || graph.isInput(start) || event.slot >= graph.node(start).inputs.size()) {
        return {};
    }
    const ValueId value = graph.node(start).inputs[event.slot];
    return isDropped(value) ? value : ValueId();
}

/// Nodes whose forward pass was run for an argument: who answered, then those that the search had crossed, backwards.
std::vector<NodeId> ReturnBook::runsFor(const Event& event)
{
    std::vector<NodeId> runs = std::exchange(m_ran, {});
    const graph::Graph& graph = m_model.graph();
    const auto branch = m_branches.find({event.promise, event.branch});
    const bool isByChild = branch != m_branches.end() && branch->second.child < m_starts.size();
    const NodeId answered = event.node != NodeId::kInvalid ? NodeId(event.node)
                            : isByChild                    ? m_starts[branch->second.child]
                                                           : NodeId();
    const auto isThere = [&](ValueId output) { return !output.isValid() || m_saved.keeps(output); };
    const bool isRun =
        answered.isValid() && !graph.isInput(answered) && !std::ranges::all_of(graph.outputsOf(answered), isThere);
    if (isRun) {
        runs.push_back(answered);
    }
    if (branch != m_branches.end()) {
        runs.insert(runs.end(), branch->second.crossed.rbegin(), branch->second.crossed.rend());
    }
    return runs;
}

void ReturnBook::takeArgument(const Event& event, std::uint32_t visit)
{
    const ValueId value = droppedArgument(event);
    if (!value.isValid()) {
        return;
    }
    const bool isFound = m_model.isTracked(value); // what carries no relevance is computed again, by whoever asks
    add(value,
        {isFound ? ReturnWay::Promise : ReturnWay::Recompute, visit, base::PromiseId(event.promise), runsFor(event)});
}

std::vector<ValueId> ReturnBook::recomputedBy(NodeId node) const
{
    std::vector<ValueId> remade;
    const graph::Graph& graph = m_model.graph();
    if (!node.isValid() || graph.isInput(node) || !m_rules[node.index()].rule) {
        return remade;
    }
    const ops::Reads reads = m_rules[node.index()].rule->reads(m_model.op(node), lrp::trackedSlots(m_graph, node));
    const auto outputs = graph.outputsOf(node);
    for (std::size_t k = 0; k < outputs.size(); ++k) {
        if (reads.output(k) && isDropped(outputs[k])) {
            remade.push_back(outputs[k]);
        }
    }
    return remade;
}

void ReturnBook::takeRule(NodeId node, std::uint32_t visit)
{
    const graph::Graph& graph = m_model.graph();
    std::vector<NodeId> ran = std::exchange(m_ran, {});
    if (!node.isValid() || graph.isInput(node) || !m_rules[node.index()].rule) {
        return;
    }
    const std::vector<std::uint8_t> tracked = lrp::trackedSlots(m_graph, node);
    const ops::Reads reads = m_rules[node.index()].rule->reads(m_model.op(node), tracked);
    const auto& inputs = graph.node(node).inputs;
    for (std::size_t slot = 0; slot < inputs.size(); ++slot) {
        // What carries relevance came by a promise. What does not is computed again where no promise was raised.
        const bool isOwn = reads.operand(slot) && tracked[slot] == 0 && isDropped(inputs[slot]);
        const bool isNew =
            isOwn &&
            std::ranges::none_of(m_dropped[m_at[inputs[slot].index()]].returns, [&](const trace::ValueReturn& back) {
                return back.promise.isValid() && m_starts[back.promise.index()] == node;
            });
        if (isNew) {
            add(inputs[slot], {ReturnWay::Recompute, visit, {}, ran});
        }
    }
    for (const ValueId value : recomputedBy(node)) {
        add(value, {ReturnWay::Recompute, visit, {}, {node}});
    }
}

} // namespace retro::engine
