// SPDX-License-Identifier: Apache-2.0
#include "core/lrp/oracle.h"

#include "core/lrp/ruleapplication.h"
#include "core/ops/algebra.h"

#include <ranges>

namespace retro::lrp
{

namespace
{

// Parts of a node's in-edges, summed per output in in-edge order; invalid where nothing arrived.
std::vector<Tensor> arrivedAt(const TraversalGraph& graph, NodeId node, std::span<const Tensor> parts)
{
    std::vector<Tensor> relevance(graph.outputCount(node));
    const std::span<const InEdge> inEdges = graph.inEdges(node);
    for (std::size_t i = 0; i < inEdges.size(); ++i) {
        Tensor& sum = relevance[inEdges[i].output];
        const Tensor& part = parts[graph.firstInEdge(node) + i];
        sum = sum.isValid() ? ops::algebra::add(sum, part) : part;
    }
    return relevance;
}

NodeValues valuesOf(const execute::SavedValues& everything, NodeId node)
{
    const graph::Node& definition = everything.model().graph().node(node);
    NodeValues values;
    for (const ValueId operand : definition.inputs) {
        values.operands.push_back(operand.isValid() ? everything.anyValue(operand) : Tensor());
    }
    for (const ValueId output : definition.outputs) {
        values.outputs.push_back(everything.anyValue(output));
    }
    return values;
}

} // namespace

base::Result<RelevanceTable> oracle(const execute::SavedValues& everything, const RuleAssignment& rules,
                                    const TraversalGraph& graph, const Tensor& start, std::stop_token stop,
                                    std::vector<event::LedgerEntry>* ledger)
{
    RelevanceTable table(graph.size());
    std::vector<Tensor> parts(graph.inEdgeCount());
    parts[graph.firstInEdge(graph.root())] = start;
    std::uint32_t visit = 0;
    for (const NodeId node : std::views::reverse(graph.postOrder())) {
        if (stop.stop_requested()) {
            return base::Error{base::ErrorCode::Cancelled, "stopped during the relevance pass", {}};
        }
        table[node.index()] = arrivedAt(graph, node, parts);
        const std::span<const ChildSlot> children = graph.children(node);
        event::LedgerEntry row{.node = node.value, .visit = visit++};
        std::vector<Tensor> shares;
        if (!children.empty()) {
            shares = applyRule(everything.model(), node, *rules[node.index()].rule, trackedSlots(graph, node),
                               table[node.index()], valuesOf(everything, node), ledger == nullptr ? nullptr : &row);
        }
        for (std::size_t slot = 0; slot < shares.size(); ++slot) {
            if (children[slot].child.isValid()) {
                parts[graph.firstInEdge(children[slot].child) + children[slot].inEdge] = std::move(shares[slot]);
            }
        }
        if (ledger != nullptr && !children.empty()) {
            ledger->push_back(row);
        }
    }
    return table;
}

} // namespace retro::lrp
