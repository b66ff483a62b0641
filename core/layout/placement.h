// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/layout/elements.h"

#include <stop_token>
#include <vector>

namespace retro::layout
{

/// Centre x of every element, in whole units. In a layer the order is kept and boxes, lanes and borders keep their
/// distances; every block is exactly vertical. Components overlap each other; packing moves them apart. Side lanes lie
/// to the right of everything in the layers that they pass, shorter ones inside longer ones. O(elements + segments) per
/// round, rounds are constant.
[[nodiscard]] std::vector<double> placeElements(const Elements& elements, const Ranking& ranking,
                                                const LayoutOptions& options, const std::stop_token& stop);

} // namespace retro::layout
