// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/lrp/traversal/traversalgraph.h"

#include <cstdint>
#include <vector>

namespace retro::lrp
{

using tensor::Tensor;

/// The sum of the parts that arrived at an output.
struct PartSum
{
    Tensor total;
    double lost = 0; ///< to rounding, where it was asked for
};

/// Adds one or more parts from left to right. A part whose mark in `joined` is set is first added to the part before
/// it: uses of a value by one consumer arrive as one, as on the tape (docs/tape.md, "The loops"). Parts beyond the
/// marks have none. `countsLost` = say what rounding took.
[[nodiscard]] PartSum sumOf(std::vector<Tensor> parts, const std::vector<std::uint8_t>& joined, bool countsLost);

/// Per in-edge of output `output` of a node, in their order: 1 where its part is joined. Empty when none is.
[[nodiscard]] std::vector<std::uint8_t> joinedParts(const TraversalGraph& graph, NodeId node, std::uint32_t output);

} // namespace retro::lrp
