// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/tensor/tensor.h"

namespace retro::ops
{

/// a·b over the last two axes; the axes before them broadcast. Ranks ≥ 2, inner extents equal, float32 or float64.
/// The result is row-major. float32 by multiplyFloats() (floatproduct.h), float64 by the reference.
[[nodiscard]] tensor::Tensor matrixProduct(const tensor::Tensor& a, const tensor::Tensor& b);

/// Shape as a matrix: a vector becomes a row (on the left) or a column (on the right).
[[nodiscard]] tensor::Shape asMatrix(tensor::Shape shape, bool isLeft);

/// View with the last two axes swapped; rank ≥ 2.
[[nodiscard]] tensor::Tensor swapped(const tensor::Tensor& t);

} // namespace retro::ops
