// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/graph/graph.h"

#include <string>

namespace retro::graph
{

/// The module that a node came from, as PyTorch names it: "layer1.0.conv1"; empty when its scope says none.
[[nodiscard]] std::string moduleOf(const Node& node);

} // namespace retro::graph
