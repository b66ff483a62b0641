// SPDX-License-Identifier: Apache-2.0
#include "core/lrp/traversal/oracle.h"

#include "core/lrp/rules/ruleapplication.h"
#include "core/lrp/traversal/partsum.h"

#include <algorithm>
#include <iterator>
#include <ranges>
#include <utility>

namespace retro::lrp
{

namespace
{

// Parts of a node's in-edges, summed per output in in-edge order; invalid where nothing arrived. `lost`, when given,
// gets what rounding took.
std::vector<Tensor> arrivedAt(const TraversalGraph& graph, NodeId node, std::vector<Tensor>& parts, double* lost)
{
    const std::span<const InEdge> inEdges = graph.inEdges(node);
    std::vector<std::vector<Tensor>> gathered(graph.outputCount(node));
    std::vector<std::vector<std::uint8_t>> joined(gathered.size());
    for (std::size_t i = 0; i < inEdges.size(); ++i) {
        gathered[inEdges[i].output].push_back(std::exchange(parts[graph.firstInEdge(node) + i], Tensor()));
        joined[inEdges[i].output].push_back(inEdges[i].isJoined ? 1 : 0);
    }
    std::vector<Tensor> relevance(gathered.size());
    for (std::size_t k = 0; k < gathered.size(); ++k) {
        PartSum sum = sumOf(std::move(gathered[k]), joined[k], lost != nullptr);
        relevance[k] = std::move(sum.total);
        if (lost != nullptr) {
            *lost += sum.lost;
        }
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
        values.outputs.push_back(output.isValid() ? everything.anyValue(output) : Tensor());
    }
    return values;
}

// Hands the shares of a node to its children's in-edges.
void handOn(const TraversalGraph& graph, NodeId node, std::vector<Tensor> shares, std::vector<Tensor>& parts)
{
    const std::span<const ChildSlot> children = graph.children(node);
    for (std::size_t slot = 0; slot < children.size(); ++slot) {
        if (children[slot].child.isValid()) {
            parts[graph.firstInEdge(children[slot].child) + children[slot].inEdge] = std::move(shares[slot]);
        }
    }
}

/// One place per in-edge; the starts lie in those of the roots.
std::vector<Tensor> partsOf(const TraversalGraph& graph, std::span<const Tensor> starts)
{
    std::vector<Tensor> parts(graph.inEdgeCount());
    for (std::size_t i = 0; i < starts.size(); ++i) {
        const Root& root = graph.roots()[i];
        parts[graph.firstInEdge(root.node) + root.inEdge] = starts[i];
    }
    return parts;
}

/// Adds rows to the ledger, where there is one.
void book(std::vector<event::LedgerEntry>* ledger, std::span<const event::LedgerEntry> rows)
{
    if (ledger != nullptr) {
        std::ranges::copy(rows, std::back_inserter(*ledger));
    }
}

} // namespace

base::Result<RelevanceTable> oracle(const execute::SavedValues& everything, const RuleAssignment& rules,
                                    const TraversalGraph& graph, const Tensor& start, std::stop_token stop,
                                    std::vector<event::LedgerEntry>* ledger)
{
    return oracle(everything, rules, graph, std::span(&start, 1), std::move(stop), ledger);
}

base::Result<RelevanceTable> oracle(const execute::SavedValues& everything, const RuleAssignment& rules,
                                    const TraversalGraph& graph, std::span<const Tensor> starts, std::stop_token stop,
                                    std::vector<event::LedgerEntry>* ledger)
{
    RelevanceTable table(graph.size());
    std::vector<Tensor> parts = partsOf(graph, starts);
    InputRows inputRows;
    std::uint32_t visit = 0;
    for (const NodeId node : std::views::reverse(graph.postOrder())) {
        if (stop.stop_requested()) {
            return base::Error{base::ErrorCode::Cancelled, "stopped during the relevance pass", {}};
        }
        double lost = 0;
        const std::vector<Tensor>& relevance = table[node.index()] =
            arrivedAt(graph, node, parts, ledger == nullptr ? nullptr : &lost);
        event::LedgerEntry row{.node = node.value, .visit = visit++};
        event::LedgerEntry* books = ledger == nullptr ? nullptr : &row;
        if (graph.children(node).empty()) {
            inputRows.add(node, lastReader(graph.inEdges(node)), lost);
            continue;
        }
        handOn(graph, node,
               applyRule(everything.model(), node, rules[node.index()].rule, trackedSlots(graph, node), relevance,
                         valuesOf(everything, node), books, lost),
               parts);
        book(ledger, std::span(&row, 1));
    }
    book(ledger, inputRows.take(visit));
    return table;
}

} // namespace retro::lrp
