// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/ops/kernel/weightrows.h"

namespace retro::ops
{

/// s·M of a single row s [1 × rows] and a row-major M [rows × columns], without reading the rows of M that s has a 0
/// for: such a product takes as long as its matrix takes to arrive from memory, and behind a ReLU half of s is 0.
/// Invalid when s is not one row of float32, M is not row-major, or too few rows fall away for a gain. The terms of a
/// sum are added in the order of the rows; a NaN or infinity in a row that is left out does not count.
[[nodiscard]] tensor::Tensor weightedRows(const tensor::Tensor& s, const tensor::Tensor& matrix);

/// The same of a matrix whose rows are widened as they are read; same bits.
[[nodiscard]] tensor::Tensor weightedRows(const tensor::Tensor& s, const WeightRows& matrix);

} // namespace retro::ops
