// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/base/result.h"
#include "core/graph/graph.h"

#include <map>
#include <string>
#include <vector>

namespace retro::engine
{

/// Shapes that a person gives to inputs, as --shape says them: `NAME=2x3x48x192`, or without `NAME=` for the only
/// input. `?` leaves an axis as it is. What follows for the shapes of all inputs, by input: axes of one name get one
/// extent, except for names that name nothing (graph::isPlaceholder). Errors (Usage): no such input, no such text, an
/// extent that the model fixes to another number, another number of axes, two extents for one name, a shape of too many
/// elements.
[[nodiscard]] base::Result<std::map<base::ValueId, std::vector<graph::Dimension>>>
givenShapes(const std::vector<std::string>& texts, const graph::Graph& graph);

} // namespace retro::engine
