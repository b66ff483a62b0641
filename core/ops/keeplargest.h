// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/tensor/tensor.h"

namespace retro::ops
{

/// `values` with all but the largest `fraction` (0 to 1) of the elements set to 0, for each index of the first axis on
/// its own (all at once below rank 2); at least one element stays. By signed order; of equal ones, the first in
/// row-major order. Floating types.
[[nodiscard]] tensor::Tensor keepLargest(const tensor::Tensor& values, double fraction);

} // namespace retro::ops
