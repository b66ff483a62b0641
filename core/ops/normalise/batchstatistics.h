// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/ops/bind/operatorbase.h"

namespace retro::ops
{

/// BatchNormalization with training_mode = 1, which has been checked: by mean and variance of its own operand, per
/// channel over batch and positions. Outputs 1 and 2: what becomes of the running mean and variance.
[[nodiscard]] BoundResult bindBatchStatistics(const BindContext& context);

} // namespace retro::ops
