// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/layout/elements.h"
#include "core/layout/packing.h"

#include <vector>

namespace retro::layout
{

/// Edges as polylines in two flat arrays: edge e has the points [offsets[e], offsets[e + 1]).
struct Polylines
{
    std::vector<Index> offsets;
    std::vector<Point> points;
};

/// Draws every edge from the bottom of its source to the top of its target. An edge is vertical wherever boxes are and
/// bends only between layers, so it cannot pass through a box. Ends on one side of a box are spread, a straight one
/// keeps the centre.
[[nodiscard]] Polylines routeEdges(const LayoutInput& input, const Elements& elements, const Packing& packing,
                                   const LayoutOptions& options);

} // namespace retro::layout
