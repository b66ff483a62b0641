// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/analysis/opgraph.h"
#include "core/graph/graph.h"
#include "core/ops/boundoperator.h"

#include <functional>
#include <optional>

namespace retro::analysis
{

/// What the unit of Op::cost is.
enum class CostUnit : std::uint8_t { Milliseconds, Flops, Operators };

/// "ms", "FLOP", "operators".
[[nodiscard]] std::string_view nameOf(CostUnit unit);

/// A value that a node gives a part to in the second half, and what that part reads of the node.
struct NodePart
{
    base::ValueId operand;
    ops::Reads reads;
    std::uint64_t workspace = 0; ///< bytes while the part is worked out
};

/// What a bound model knows beyond the graph; each may answer nothing.
struct BoundFacts
{
    std::function<std::optional<ops::TensorType>(base::ValueId)> typeOf;
    /// The operator of a node.
    std::function<const ops::BoundOperator*(base::NodeId)> operatorOf;
    /// Who gets a part from a node, each once; without an answer every operand does, and reads all that is saved.
    std::function<std::vector<NodePart>(base::NodeId)> partsOf;
    /// What gradients of the parameters of a node read; without an answer all that is saved.
    std::function<ops::Reads(base::NodeId)> parameterReadsOf;
    /// The parts are those of relevance: what a graph states to be saved is about gradients, and not asked.
    bool isOfRelevance = false;
    /// True when a value carries a gradient; without an answer every floating value does.
    std::function<bool(base::ValueId)> carriesGradient;
    /// Bytes of the relevance of a value that is no floating one; 0 = it carries none.
    std::function<std::uint64_t(base::ValueId)> relevanceBytesOf;
    /// What the second half starts at; empty = the outputs of the graph.
    std::vector<base::ValueId> outputs;
};

/// A graph as planning sees it, and what was assumed on the way.
struct PlanningGraph
{
    OpGraph graph;
    CostUnit unit = CostUnit::Operators;
    std::uint64_t constantBytes = 0;   ///< weights; in memory for the whole run, outside every budget
    std::vector<std::string> warnings; ///< operators without known operations, views that were merged
};

/// The planning graph of a graph: an operator per node, a source per graph input (pinned). What the graph states
/// (docs/formats/graph.md) goes before what the bound model knows. Constants are left out and summed. The cost is
/// milliseconds when every node states them, else floating-point operations when any node has them, else 1 each. Values
/// of one storage are one value: the views' readers read what they look at, and their costs count with its producer.
/// Operators that read constants only are left out: they run once, before. Errors (Input): a value whose size nobody
/// knows; values that share a storage without one being made from the other; what OpGraph::make refuses.
[[nodiscard]] base::Result<PlanningGraph> planningGraph(const graph::Graph& graph, const BoundFacts& facts = {});

} // namespace retro::analysis
