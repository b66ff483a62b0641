// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/tensor/tensor.h"

#include <vector>

namespace retro::ops
{

/// Σ over `axes` (ascending, no axis twice); they stay with extent 1. Summed pairwise in row-major order of the reduced
/// elements, whatever the strides. float32, float64, int32, int64.
[[nodiscard]] tensor::Tensor sumOverAxes(const tensor::Tensor& t, const std::vector<std::size_t>& axes);

/// A view of `t` with `axes` moved to the end, the others kept in order.
[[nodiscard]] tensor::Tensor movedToEnd(const tensor::Tensor& t, const std::vector<std::size_t>& axes);

/// Product of the extents along `axes`.
[[nodiscard]] std::int64_t extentOf(const tensor::Shape& shape, const std::vector<std::size_t>& axes);

} // namespace retro::ops
