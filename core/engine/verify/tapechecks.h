// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/engine/verify/property.h"
#include "core/engine/verify/reversecourse.h"
#include "core/tape/model/modeltape.h"

namespace retro::engine
{

/// Largest tape on which the recursion runs: its work is quadratic, and it goes one level deeper per node.
inline constexpr std::size_t kMostRecursion = 2000;

/// P1 to P6 and P9 on a model's tape, with its own numbers and rules, from a seed at `target` (of the target's shape).
/// Values are compared bit for bit with another forward pass, the dense loop bit for bit with the recursion. `course`
/// gets both step by step. Errors: what the forward pass or a rule refuses; Cancelled.
[[nodiscard]] base::Result<PropertyResults> checkTape(const tape::ModelTape& made, tape::Id target,
                                                      const tensor::Tensor& seed, const std::stop_token& stop,
                                                      ReverseCourse* course = nullptr);

} // namespace retro::engine
