// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/graph/graph.h"
#include "core/ops/boundoperator.h"

#include <functional>
#include <optional>
#include <stop_token>
#include <vector>

namespace retro::rewrite
{

/// The extent that is tried for an axis of an input whose extent is not declared.
using FreeExtent = std::function<std::int64_t(std::size_t axis, const graph::Dimension&)>;

/// Type and shape per value, as far as they follow from the shapes that the inputs declare and from constants, else
/// as the graph declares them; nothing where neither says it. Costs one binding of every node. A stop leaves the rest
/// unknown. `freeExtent`, where given, answers for the free axes of the inputs.
[[nodiscard]] std::vector<std::optional<ops::TensorType>>
staticTypes(const graph::Graph& graph, const std::stop_token& stop, const FreeExtent& freeExtent = {});

} // namespace retro::rewrite
