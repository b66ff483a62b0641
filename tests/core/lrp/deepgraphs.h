// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/lrp/arithmetic/nullarithmetic.h"
#include "core/lrp/traversal/traversalgraph.h"

#include <cstddef>
#include <vector>

namespace retro::lrptest
{

/// A graph with what its nodes do, for traversals without values.
struct NullCase
{
    lrp::TraversalGraph graph;
    std::vector<lrp::NodeBehaviour> behaviour;
};

/// y = x + chain(x), where the chain is `length` nodes that a search crosses.
[[nodiscard]] NullCase crossedChain(std::size_t length);

/// `blocks` residual blocks y = h + f(h) on top of each other, where f is `inner` nodes of which every third one knows
/// its own output and the others are crossed by a search.
[[nodiscard]] NullCase residualBlocks(std::size_t blocks, std::size_t inner);

} // namespace retro::lrptest
