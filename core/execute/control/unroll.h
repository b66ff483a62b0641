// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/base/result.h"
#include "core/execute/boundmodel.h"

#include <memory>
#include <span>
#include <stop_token>
#include <string>
#include <string_view>
#include <vector>

namespace retro::execute
{

/// Most nodes that a graph may have once its loops are written out.
inline constexpr std::size_t kMaxUnrolledNodes = 250'000;

/// In the errors of unroll() for what is more than that: the same inputs give it again, after as long.
inline constexpr std::string_view kTooLong = "more than is written out";
[[nodiscard]] inline bool isTooLong(const base::Error& error)
{
    return error.message.find(kTooLong) != std::string::npos;
}

/// Where a node was written out from.
struct Origin
{
    const graph::Graph* graph = nullptr; ///< the one around it: the model's, or one inside a node; null: none
    base::NodeId node;
};

/// A graph without control flow, and what was decided for it.
struct Unrolled
{
    std::shared_ptr<const graph::Graph> graph;
    std::vector<Origin> origins; ///< per node; none for helpers, such as those that put the rounds of a loop together
    /// One line per If, Loop and Scan: "If 'gate': then_branch", "Loop 'steps': 12 times".
    std::vector<std::string> steps;
};

/// True when a node holds a graph: If, Loop, Scan.
[[nodiscard]] bool hasControlFlow(const graph::Graph& graph);

/// The graph that these inputs take through `graph`: each If is replaced by the branch that its condition chooses, each
/// Loop and Scan by its body as often as it runs, so that every engine sees plain nodes. Inputs, outputs and their
/// names stay; the nodes of a body lie in the scope of their control-flow node. Costs one forward pass. Errors (Input):
/// an operator that is not implemented or does not fit, more than `mostNodes` nodes or steps of one loop; Cancelled;
/// Memory, by node: a pass takes too much, or what one If, Loop or Scan makes is beyond base::MemoryLimit::beforeRun().
[[nodiscard]] base::Result<Unrolled> unroll(const graph::Graph& graph, std::span<const Tensor> inputs,
                                            Precision precision, const std::stop_token& stop = {},
                                            std::size_t mostNodes = kMaxUnrolledNodes);

} // namespace retro::execute
