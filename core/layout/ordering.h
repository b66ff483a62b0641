// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/layout/elements.h"

#include <cstdint>
#include <stop_token>

namespace retro::layout
{

/// Orders every layer so that few segments cross: depth-first start, barycentre sweeps in both directions, then
/// exchanges of neighbours; the best order seen wins. Members of a group stay together between its borders, and groups
/// beside each other keep one order through all layers. Returns false when stopped (the order is then valid but not
/// improved).
bool orderLayers(Elements& elements, const LayoutOptions& options, const std::stop_token& stop);

/// Crossings between the segments below `layer`. O(k log k) for k segments.
[[nodiscard]] std::int64_t countCrossings(const Elements& elements, Index layer);

} // namespace retro::layout
