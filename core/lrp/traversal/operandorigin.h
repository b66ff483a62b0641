// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/execute/boundmodel.h"

#include <optional>
#include <span>
#include <string>

namespace retro::lrp
{

/// True when operand `slot` of the node (any, when not given) carries relevance and comes from a node of one of these
/// operator types: directly, through shape maps (Reshape, Transpose, Dropout, Where …), or through products and sums
/// with operands that carry no relevance (masks, factors).
[[nodiscard]] bool comesFrom(const execute::BoundModel& model, execute::NodeId node, std::optional<std::size_t> slot,
                             std::span<const std::string> operators);

} // namespace retro::lrp
