// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/graph/graph.h"

#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

namespace retro::analysis
{

class OpGraph;

/// A tensor name of a flow, as a number. Names of a graph inside a node differ from those around it.
using FlowName = std::uint32_t;

struct FlowOperator;

/// A branch of an If.
struct FlowRegion
{
    std::vector<FlowOperator> operators;
    std::vector<FlowName> results; ///< per output of the If
};

/// A value that a loop hands from one iteration to the next.
struct FlowCarried
{
    FlowName initial = 0;    ///< operand of the loop
    FlowName bodyInput = 0;  ///< in the body, at the start of an iteration
    FlowName bodyResult = 0; ///< in the body, at its end
    FlowName result = 0;     ///< of the loop
};

/// A value that goes into or out of a loop slice by slice.
struct FlowSlices
{
    FlowName inside = 0;
    FlowName outside = 0;
};

/// The inside of a Loop or Scan.
struct FlowLoop
{
    std::vector<FlowCarried> carried;
    std::vector<FlowSlices> scanInputs;
    std::vector<FlowSlices> scanResults;
    std::vector<FlowOperator> body;
};

/// An operator as far as this analysis sees it.
struct FlowOperator
{
    std::uint32_t id = 0;
    std::vector<FlowName> inputs;
    std::vector<std::uint8_t> passes; ///< per input: 1 where a gradient may pass; shorter = 1 for the rest
    std::vector<FlowName> outputs;
    bool isStop = false; ///< no gradient passes at all
    std::vector<FlowRegion> regions = {};
    std::optional<FlowLoop> loop = {};
};

/// Operators in execution order and the names that carry no gradient (integers, booleans, strings).
struct Flow
{
    std::vector<FlowOperator> operators;
    std::vector<std::uint8_t> isIntegral; ///< per name
};

/// Why an operator is not in the critical subgraph.
enum class LeftOut : std::uint8_t {
    Stops,        ///< no gradient passes it: an explicit stop, or an operator that is not differentiable
    NoPath,       ///< the outputs do not depend on it
    NotPassed,    ///< the outputs depend on it only through stops, integers or operands without a gradient
    NoInput,      ///< it does not depend on the inputs
    InputStopped, ///< it depends on the inputs only through stops, integers or operands without a gradient
};

/// A sentence for people.
[[nodiscard]] std::string_view textOf(LeftOut reason);

/// What a gradient of outputs with respect to inputs has to visit.
struct CriticalSubgraph
{
    std::vector<std::uint32_t> backwardCone; ///< ids in execution order, those of a graph inside a node before the node
    std::vector<std::uint32_t> critical;     ///< in both cones, same order
    std::vector<std::uint32_t> skipped;      ///< all other ids, ascending
    std::vector<LeftOut> reasons;            ///< per entry of `skipped`
    std::vector<FlowName> gradientNames;     ///< names that the backward cone wants and the inputs reach, ascending
    std::vector<FlowName> inputsWithoutGradient; ///< inputs that the backward cone does not want, in their order
};

/// Operators that are both backward reachable from `outputs` and forward reachable from `inputs` along operands that
/// pass a gradient. Loops are followed to a fixed point. O(operators) without loops; a loop's body is walked at most
/// once more than it carries values.
[[nodiscard]] CriticalSubgraph criticalSubgraph(const Flow& flow, std::span<const FlowName> outputs,
                                                std::span<const FlowName> inputs);

/// A graph as a flow: names are value ids, ids are node ids. `passes(node, slot)` says whether operand `slot` of a node
/// may pass a gradient. Graphs inside nodes (If, Loop, Scan) are not opened: write control flow out first.
[[nodiscard]] Flow flowOf(const graph::Graph& graph, const std::function<bool(graph::NodeId, std::size_t)>& passes);

/// The forward operators of a planning graph as a flow: names are value ids, ids are operator ids. Sources and captured
/// gradient operators are left out.
[[nodiscard]] Flow flowOf(const OpGraph& graph);
/// The inputs of a planning graph that get a gradient, or as tokens a relevance: values of sources.
[[nodiscard]] std::vector<FlowName> differentiableInputs(const OpGraph& graph);
/// Its critical subgraph between all differentiable outputs and `inputs`.
[[nodiscard]] CriticalSubgraph criticalSubgraph(const OpGraph& graph, std::span<const FlowName> inputs);
/// The same from all differentiable inputs.
[[nodiscard]] CriticalSubgraph criticalSubgraph(const OpGraph& graph);

} // namespace retro::analysis
