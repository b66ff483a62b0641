// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/layout/elements.h"

#include <vector>

namespace retro::layout
{

/// Where segments touch boxes. Entries of segments that do not end in a box there are the x of the lane.
struct Ports
{
    std::vector<double> leave; ///< per segment: x at its upper end
    std::vector<double> enter; ///< per segment: x at its lower end
};

/// Spreads the ends of segments along the sides of each box, in the order of where they come from: a segment to an
/// element straight above or below keeps the centre, the others stand to its left and right at options.portGap (less
/// when they are many). A single segment keeps the centre, unless its lane passes over the box: then it stays vertical.
[[nodiscard]] Ports placePorts(const Elements& elements, const std::vector<double>& x, const LayoutOptions& options);

} // namespace retro::layout
