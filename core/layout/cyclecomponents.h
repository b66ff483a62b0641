// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/layout/layoutinput.h"

#include <vector>

namespace retro::layout
{

/// Strongly connected components: nodes that lie on a common cycle get the same number.
struct CycleComponents
{
    std::vector<Index> component; ///< per node
    std::vector<Index> size;      ///< per component
};
/// O(nodes + edges), without recursion.
[[nodiscard]] CycleComponents findCycleComponents(const std::vector<LayoutEdge>& edges, Index nodeCount);

} // namespace retro::layout
