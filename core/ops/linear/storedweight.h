// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/ops/boundoperator.h"

namespace retro::ops
{

/// Constant operand `slot` as the model stores it when that is float16 or bfloat16, else in the run's precision. For
/// maps that hold their weights and widen them where they are used (WeightVariants).
[[nodiscard]] Tensor storedWeight(const BindContext& context, std::size_t slot);

} // namespace retro::ops
