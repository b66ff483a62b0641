// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/graph/graph.h"

#include <string>

namespace retro::graph
{

/// As structuralHash(), with the data of constants: 32 hexadecimal digits of base::Hasher128.
[[nodiscard]] std::string contentDigest(const Graph& graph);

} // namespace retro::graph
