// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/tensor/tensor.h"

namespace retro::tensor
{

/// Numbers as integers of a wide type, towards zero. What the type does not hold has no meaning in the ONNX standard;
/// it becomes what x86-64 makes of it, as in other runtimes there. Types of at most 16 bits take the lowest
/// bits of the number in int32; int32 and int64 their least number; uint32 the lowest bits of the number in int64;
/// uint64 wraps once, and what is 2^64 or more becomes 0. NaN is beyond every type. Integers become integers by their
/// lowest bits. Tensor::to() cuts to the range instead.
[[nodiscard]] Tensor toWrapped(const Tensor& numbers, DType integers);

} // namespace retro::tensor
