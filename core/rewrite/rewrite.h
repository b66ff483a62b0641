// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/base/result.h"
#include "core/graph/graph.h"

#include <memory>
#include <span>
#include <stop_token>
#include <string>
#include <string_view>
#include <vector>

namespace retro::rewrite
{

/// Which rewrites are applied. Each is explicit and can be switched off.
struct RewriteOptions
{
    bool removeUnused = true;
    bool foldConstants = true;
    bool dequantise = true;
    bool removeIdentities = true;
    bool fuseLayerNorm = true;
    bool fuseRmsNorm = true;
    bool fuseSoftmax = true;
    bool fuseNorms = true;
    bool fuseActivations = true;
    bool fuseCells = true;
    bool fuseAttention = true;
    bool fuseLinear = true;
    bool mergeBatchNorm = true;
    bool mergeBatchNormRight = true;
    bool mergePad = true;
    /// Those that nobody needs to understand relevance are off unless asked for: see isOptional().
    bool inlineBranches = false;
    bool expandFunctions = false;
    bool dropOverwritten = false;
    bool mergeCommon = false;
    bool fuseElementwise = false;
    /// Computed constants of a float32 or narrower model keep float64; else they are rounded once, to float32, which
    /// halves what they take. No rewrite: it changes neither nodes nor values.
    bool keepDigits = true;
    /// Operators that are not implemented hand their first operand on, in values and in relevance. Wrong in general and
    /// therefore off unless a person asks for it; every such node is named in the steps.
    bool passThrough = false;
    bool lookUpOneHot = true;
    bool floatInputs = true;
    bool operator==(const RewriteOptions&) const = default;
};

/// What steps of RewriteOptions::passThrough are named.
inline constexpr std::string_view kPassThrough = "pass-through";

/// A rewrite as options name it.
struct RewriteName
{
    std::string_view name; ///< "fold-constants"
    std::string_view text; ///< what it does, for people
    bool RewriteOptions::*option;
};

/// All rewrites, in the order in which they are applied.
[[nodiscard]] std::span<const RewriteName> rewriteNames();
/// True for a rewrite that is off unless somebody switches it on.
[[nodiscard]] bool isOptional(const RewriteName& rewrite);
/// Options with none of the rewrites.
[[nodiscard]] RewriteOptions noRewrites();
/// Switches off the rewrites of these names; "all" means every one. Errors (Usage): an unknown name (lists the known
/// ones).
[[nodiscard]] base::Result<void> switchOff(RewriteOptions& options, std::span<const std::string> names);
/// Switches on the rewrites of these names; "all" means every one. Errors as switchOff().
[[nodiscard]] base::Result<void> switchOn(RewriteOptions& options, std::span<const std::string> names);
/// Names of the rewrites that are off though they are usually on, in the order in which they would be applied.
[[nodiscard]] std::vector<std::string> switchedOff(const RewriteOptions& options);
/// Names of the optional rewrites that are on.
[[nodiscard]] std::vector<std::string> switchedOn(const RewriteOptions& options);

/// One change that a rewrite made, for people and for undoing.
struct RewriteStep
{
    std::string rewrite;              ///< "remove unused", "fold constants", "fuse linear", "merge BatchNorm", …
    std::string text;                 ///< "conv1 + bn1 → Conv conv1"
    std::vector<std::string> removed; ///< node names of the graph before
    std::vector<std::string> added;   ///< node names of the graph after
    bool isNote = false;              ///< nothing was changed; the text says why
    std::string_view name = {};       ///< of the rewrite as rewriteNames() has it: "fuse-linear"
};

/// A node that stands for several nodes of the graph before.
struct FusedNode
{
    std::string node; ///< name in the graph after; its first output has the name of the last member's output
    /// The members as a graph of their own: its inputs are the fused node's operands (named as in the graph after), its
    /// output is the fused node's.
    std::shared_ptr<const graph::Graph> members;
};

/// A node that was fused inside a graph of an If, Loop or Scan.
struct FusedInBody
{
    std::shared_ptr<const graph::Graph> body; ///< after its rewrites, as the node around it holds it
    FusedNode fused;                          ///< names are those of `body`
};

/// A rewritten graph with what was done. `before` is the untouched graph: undoing is going back to it.
struct Rewritten
{
    std::shared_ptr<const graph::Graph> before;
    std::shared_ptr<const graph::Graph> graph;
    std::vector<RewriteStep> steps;
    std::vector<FusedNode> fused; ///< in the order of the nodes of the graph before
    std::vector<FusedInBody> fusedInBodies = {};
    RewriteOptions options = {}; ///< what was asked for

    /// The members of a node of the graph after; nullptr when it stands for itself.
    [[nodiscard]] const FusedNode* findFused(std::string_view node) const;
};

/// Applies the chosen rewrites in a fixed order (that of rewriteNames). Names of values that survive stay; a fused
/// node's output keeps the name of its last member's output, so relevance is stored under names that the
/// model's author knows. Folding also drops nodes that no output depends on and constants that nobody reads. Computed
/// constants are worked out in float64 and, with `keepDigits`, kept so whatever type they are declared with, so that a
/// run in either precision rounds once (docs/rewrites.md); moved ones (Reshape, Transpose, …)
/// keep their type. A graph in which
/// nothing is to be done is handed back itself.
/// Graphs inside control-flow nodes are rewritten as well. A requested stop ends it with Cancelled.
[[nodiscard]] base::Result<Rewritten> rewrite(std::shared_ptr<const graph::Graph> graph, const RewriteOptions& options,
                                              const std::stop_token& stop = {});

} // namespace retro::rewrite
