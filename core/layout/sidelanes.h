// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/layout/elements.h"

#include <vector>

namespace retro::layout
{

/// Sets x of the side lanes: to the right of everything in the layers that they pass (left of it with lanesFirst),
/// shorter ones inside longer ones.
/// O(k log layers) for k side lanes.
void placeSideLanes(const Elements& elements, const LayoutOptions& options, std::vector<double>& x);

} // namespace retro::layout
