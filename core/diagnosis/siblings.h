// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/diagnosis/facts.h"

#include <vector>

namespace retro::diagnosis
{

/// Nodes that a linear map is compared with: of its kind (depthwise convolution, other convolution, dense, as is a
/// convolution of one position) where there are at least two others, else all linear maps; without the node itself. Of
/// more than kMostSiblings those that are spread evenly over the order of the pass.
[[nodiscard]] std::vector<NodeId> siblingsOf(const Facts& facts, NodeId node);

/// Enough for a median; each costs as much as the node.
inline constexpr std::size_t kMostSiblings = 9;

} // namespace retro::diagnosis
