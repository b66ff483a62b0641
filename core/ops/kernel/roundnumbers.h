// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/tensor/tensor.h"

#include <cstdint>

namespace retro::ops
{

/// True when float32 or float64 (`stored`) holds numbers that the floating type `type` has not.
[[nodiscard]] bool isWiderThan(tensor::DType stored, tensor::DType type);

/// Rounds every element of a float32 or float64 tensor to the numbers of a narrower floating type, halves to even, as
/// Cast to that type and back does: what is beyond the largest one becomes infinite, and float64 goes by way of
/// float32. In place where nobody else holds the memory. Gives back how many finite elements became infinite.
std::int64_t roundNumbers(tensor::Tensor& t, tensor::DType type);

} // namespace retro::ops
