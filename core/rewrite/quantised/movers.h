// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/graph/graph.h"

#include <cstddef>
#include <vector>

namespace retro::rewrite
{

/// The operands whose elements a node of the standard moves, whatever they stand for (Reshape, Transpose, MaxPool …);
/// empty for a node that does more, or fills in numbers of its own.
[[nodiscard]] std::vector<std::size_t> movedOperands(const graph::Node& node);

} // namespace retro::rewrite
