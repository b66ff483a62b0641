// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/execute/boundmodel.h"

#include <cstdint>
#include <span>

namespace retro::lrp
{

/// Operations of a node's reverse rule, from the operator's own count of a forward computation (multiply-add counted as
/// two). A product y = a·b takes as many again for each factor that gets a part, for ā = ȳ·b as for b̄ = a·ȳ; so do the
/// products that a composed operator is made of, each of which has two. A shift, and whatever else is no factor, takes
/// none; other operators take as many as forward. `wanted` is per operand slot: 1 where a part is asked for.
[[nodiscard]] double reverseFlops(const execute::BoundModel& model, base::NodeId node,
                                  std::span<const std::uint8_t> wanted);

} // namespace retro::lrp
