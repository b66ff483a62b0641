// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/diagnosis/facts.h"

#include <span>

namespace retro::diagnosis
{

/// Section 4.6, flow.explodes: from how many decades on relevance explodes; and from which factor on one node alone
/// does it, which is what flow.growth says.
inline constexpr double kMostDecades = 2;
inline constexpr double kGrowthOfOne = 1000;

/// How Σ|R| grows from the target to the inputs.
struct GrowthAlong
{
    double decades = 0;    ///< log10(largest / nearTarget)
    double largest = 0;    ///< Σ|R| anywhere
    double nearTarget = 0; ///< largest in the last fifth of the values towards the target: where a small score of the
                           ///< head, a difference of large terms, no longer counts
    NodeId largestAt;      ///< whose result it is, or the input; invalid: no relevance is known
    double steepest = 0;   ///< largest factor of one node
    NodeId steepestAt;

    /// It grows from node to node, and no single one makes it.
    [[nodiscard]] bool isCompound() const { return decades > kMostDecades && !(steepest > kGrowthOfOne); }
};

/// The same of a run; zeros where no relevance is known.
[[nodiscard]] GrowthAlong growthAlong(const Facts& facts);
/// The same of the balances of all nodes, by NodeId, and Σ|R| of every input of the graph, in order.
[[nodiscard]] GrowthAlong growthAlong(const graph::Graph& graph, std::span<const trace::NodeBalance> balances,
                                      std::span<const double> inputs);

} // namespace retro::diagnosis
