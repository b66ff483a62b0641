// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/base/result.h"
#include "core/lrp/composite/composite.h"
#include "core/lrp/rules/linearrule.h"
#include "core/lrp/rules/ruleapplication.h"
#include "core/lrp/traversal/traversalgraph.h"

#include <functional>
#include <span>
#include <stop_token>
#include <vector>

namespace retro::lrp
{

/// What the weights of a region are asked of: rules are held as they are, and relevance need not have run.
struct RegionQuestion
{
    const execute::BoundModel& model;
    const RuleAssignment& rules;
    const TraversalGraph& graph; ///< from whatever values are of interest: weights do not know where relevance starts
    /// Forward values of a node: what these reads name, and constants.
    std::function<NodeValues(NodeId, const ops::Reads&)> values;
    /// Per graph input, in its shape and the run's type: the region; invalid = zero. Tokens have a number each.
    std::span<const Tensor> masks;
    /// A region inside the graph: its value, and the weights there in place of what comes from below; invalid: none.
    ValueId seed{};
    Tensor seedWeights{};
    /// Called after each node with (done, total); may be empty.
    std::function<void(std::size_t, std::size_t)> progress;
    std::stop_token stop;
    WeighMemory* memory = nullptr; ///< of a pass that is asked several times; null = nothing is kept
};

/// Which forward values weigh() of a node reads: what its rule reads, and operands that carry no relevance.
[[nodiscard]] ops::Reads readsForWeights(const execute::BoundModel& model, NodeId node, const RuleSite& site);

/// Why no weights can be carried through the graph, by node: a rule that shares out by the relevance itself, or whose
/// way forwards is not known. Errors: Input.
[[nodiscard]] base::Result<void> checkWeighable(const execute::BoundModel& model, const RuleAssignment& rules,
                                                const TraversalGraph& graph);

/// By ValueId: w, in the value's shape, such that R·w is what one element's relevance R puts into the region by the
/// rules; invalid where that is zero everywhere. w(input) = mask; w of a result is Σ over its node's operands of Mᵀ·w,
/// where the rule hands M·R to the operand. So Σ R·w over a cut of the pass is Σ mask·R over the inputs. Errors: Input
/// (checkWeighable), Cancelled.
[[nodiscard]] base::Result<std::vector<Tensor>> regionWeights(const RegionQuestion& question);

} // namespace retro::lrp
