// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/analysis/opgraph.h"

#include <optional>

namespace retro::analysis
{

/// Largest joint graph, in gradient operators, for which the gradients that wait are counted.
inline constexpr std::size_t kMaxFloorOps = 6000;

/// A number that no plan goes below, with the operator that shows it.
struct Bound
{
    std::uint64_t bytes = 0;
    OpId at = kNone;
};

/// Memory, any order and any plan: the largest operator with what it reads, makes and needs while it runs
/// (docs/planning.md, "Bounds"). Pinned values count where `countsPinned` says so.
[[nodiscard]] Bound largestOperator(const OpGraph& graph, bool countsPinned);
/// Memory, any plan for a joint graph: as largestOperator without pinned values, with the gradients that must wait at
/// that time in every order (B2): made by an ancestor of the operator, read by a descendant, and never made twice.
/// Beyond kMaxFloorOps gradient operators it is largestOperator.
[[nodiscard]] Bound memoryFloor(const OpGraph& joint);
/// Cost, any plan: every operator once (B4).
[[nodiscard]] double costOfAll(const OpGraph& graph);

/// Cost, any order and any plan for a joint graph within `budget` bytes. When a gradient operator runs, what it needs
/// and the gradients that wait are in memory; of the forward values that are read later, those that are not must be
/// computed again, and so must what that reads. What stays is chosen so that the rest costs least, with a price per
/// byte in place of the budget (a Lagrangian relaxation, each price a least cut); the largest bound over the gradient
/// operators counts. None when some operator proves that nothing fits.
[[nodiscard]] std::optional<double> costBound(const OpGraph& joint, std::uint64_t budget);

} // namespace retro::analysis
