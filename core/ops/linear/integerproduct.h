// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/tensor/tensor.h"

namespace retro::ops
{

/// a·b over the last two axes of int64 tensors of rank ≥ 2, row-major, whose other axes are equal; sums wrap around.
[[nodiscard]] tensor::Tensor integerProduct(const tensor::Tensor& a, const tensor::Tensor& b);

} // namespace retro::ops
