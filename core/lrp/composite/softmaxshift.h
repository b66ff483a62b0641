// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/execute/boundmodel.h"

#include <optional>

namespace retro::lrp
{

/// The operand x of a difference x − m that is the exponent of a softmax over groups, as graph attention over
/// neighbours has it: e = exp(x − m), e / Σ e, where the sum is scattered to groups and gathered again, and m is one
/// number for each group. Such a shift changes nothing, so m has no part in the result. Nothing for other nodes.
[[nodiscard]] std::optional<std::size_t> shiftedOperand(const execute::BoundModel& model, base::NodeId node);

} // namespace retro::lrp
