// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/engine/verify/property.h"
#include "core/tape/model/modeltape.h"

namespace retro::engine
{

/// P13 and P14: what a reverse pass over flags reaches from `target`, and how many ways a pass over counts finds
/// (modulo 2⁶¹ − 1), against the graph that the tape was made of. A violated one names the earliest target found that
/// shows it, with its operands on the tape and in the graph. Linear in the cells; a few dozen times that when violated.
[[nodiscard]] PropertyResults checkWays(const tape::ModelTape& made, tape::Id target);

} // namespace retro::engine
