// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/graph/graph.h"

#include <optional>

namespace retro::ops
{

/// The function of the standard that an activation of com.microsoft is, as a node that can take its place: Gelu,
/// QuickGelu (Swish), and FastGelu without a bias (Gelu by tanh). Nothing for all others.
[[nodiscard]] std::optional<graph::Node> standardActivation(const graph::Node& node);

} // namespace retro::ops
