// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/base/result.h"
#include "core/graph/graph.h"

#include <memory>
#include <stop_token>
#include <string>
#include <vector>

namespace retro::rewrite
{

/// Which rewrites are applied. Each is explicit and can be switched off.
struct RewriteOptions
{
    bool foldConstants = true;
    bool mergeBatchNorm = true;
};

/// One change that a rewrite made, for people and for undoing.
struct RewriteStep
{
    std::string rewrite;              ///< "remove unused", "fold constants", "merge BatchNorm"
    std::string text;                 ///< "conv1 + bn1 → Conv conv1"
    std::vector<std::string> removed; ///< node names of the graph before
    std::vector<std::string> added;   ///< node names of the graph after
};

/// A rewritten graph with what was done. `before` is the untouched graph: undoing is going back to it.
struct Rewritten
{
    std::shared_ptr<const graph::Graph> before;
    std::shared_ptr<const graph::Graph> graph;
    std::vector<RewriteStep> steps;
};

/// Applies the chosen rewrites in a fixed order: constant folding, BatchNorm merge. Names of values that survive stay;
/// a merged node's output keeps the name of the last merged node's output, so relevance is stored under names that the
/// model's author knows. Folding also drops nodes that no output depends on and constants that nobody reads. Computed
/// constants are kept in float64 whatever type they are declared with, so that a run in either precision rounds once
/// (specification of the rules, section 1.5); moved ones (Reshape, Transpose, …) keep their type. A graph in which
/// nothing is to be done is handed back itself.
/// A requested stop ends it with Cancelled.
[[nodiscard]] base::Result<Rewritten> rewrite(std::shared_ptr<const graph::Graph> graph, const RewriteOptions& options,
                                              const std::stop_token& stop = {});

} // namespace retro::rewrite
