// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/engine/explainer/relevancesteps.h"
#include "core/graph/graph.h"

#include <array>
#include <cstdint>
#include <functional>

namespace retro::engine
{

/// Three values of one extent, in equal steps or not; the third confirms what follows from the first two.
using ThreeExtents = std::array<std::int64_t, 3>;

/// What a constant is at each of them.
using ThreeTensors = std::array<const tensor::Tensor*, 3>;

/// True when the nodes are the same, one by one, with the same operands; constants may differ.
[[nodiscard]] bool areSameNodes(const graph::Graph& a, const graph::Graph& b);

/// A constant computed from the extent (`extent` gives it as [1] integers): whole numbers by their law, numbers that
/// are all the same, and slices that are all the same along an axis. Invalid where it does not follow in that way.
[[nodiscard]] ValueId constantFollowing(RelevanceSteps& steps, const std::function<ValueId()>& extent,
                                        const ThreeExtents& extents, const ThreeTensors& seen);

} // namespace retro::engine
