// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/analysis/opgraph.h"

namespace retro::analysis
{

/// What the second half of a joint graph computes.
enum class JointKind : std::uint8_t {
    Gradient, ///< reverse rules; where an operator does not say what its parts read, they read what it saves for them
    Relevance ///< relevance rules; where an operator does not say what its parts read, all its operands and outputs
};

/// How a joint graph is made.
struct JointOptions
{
    JointKind kind = JointKind::Gradient;
    bool hasParameterGradients = false; ///< one more operator per operator with parameters, whose result is not counted
    double leastCost = 1;               ///< of a gradient operator: what scheduling it costs at least
};

/// The joint graph (docs/planning.md): the forward operators (ids in `order`), then per value its gradient
/// ("d:NAME", relevance "r:NAME"), last value first. Ids are a topological order. Graph inputs become pinned values
/// that nobody computes. A value that is no output, and that no operator with a gradient gives a part to, gets none.
/// The gradient of u reads u itself when u is an output, then for each operator that gives u a part, in the order of
/// ids, the gradients of its outputs and what that part reads (Op::parts). It costs the sum of those operators' costs,
/// at least JointOptions::leastCost, and has the largest workspace of those parts. Gradients of parameters read
/// Op::parameterReads. Nothing is required at the end.
struct JointGraph
{
    OpGraph graph;
    std::size_t forwardCount = 0;
    /// Per operator of the joint graph: the forward graph's operator whose forward run, or whose outputs' gradient, it
    /// is.
    std::vector<OpId> origin;
};

/// Errors (Input): `order` is no topological order; what OpGraph::make refuses; nothing is differentiable.
[[nodiscard]] base::Result<JointGraph> jointGraph(const OpGraph& forward, std::span<const OpId> order,
                                                  const JointOptions& options = {});
/// A graph that has its gradient operators already (a captured training step), its ids brought into a topological order
/// with the forward operators as early as they are in `graph.order()`. Errors (Input): it has no gradient operator.
[[nodiscard]] base::Result<JointGraph> capturedJointGraph(const OpGraph& graph);
/// True when the graph has operators of Phase::Gradient.
[[nodiscard]] bool hasGradients(const OpGraph& graph);

} // namespace retro::analysis
