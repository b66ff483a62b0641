// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/layout/graphadapter.h"

#include <cstdint>
#include <vector>

namespace retro::layout
{

/// One of several groups that are built alike, with its nodes in the order of execution.
struct LikeGroup
{
    Index group = kNone;
    std::vector<std::uint32_t> nodes; ///< not empty
};

/// Fewer groups that are built alike are no layers.
inline constexpr std::size_t kFewestLikeGroups = 6;

/// The layers of a long graph with that many operators, behind addRepeats(): the groups of the outermost depth that has
/// enough of them, by their first node; empty when no depth has. O(depth · nodes).
[[nodiscard]] std::vector<LikeGroup> likeGroups(const DrawnGraph& drawn, std::size_t operators);

} // namespace retro::layout
