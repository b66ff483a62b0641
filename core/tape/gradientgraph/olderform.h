// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/execute/boundmodel.h"

#include <cstdint>

namespace retro::tape
{

/// Control flow and operators of many steps are written out with nodes of one operator set, as it happens another than
/// the model's. Makes `node`, of `model`, one of `opset` where that means the same: an operator that has one
/// declaration in both, one that has not changed since, or one whose operands become attributes (Split, Clip,
/// Unsqueeze). Leaves it as it is otherwise.
void settleOpset(graph::Node& node, std::int64_t opset, const execute::BoundModel& model);

} // namespace retro::tape
