// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/ops/kernel/rowloop.h"
#include "core/tensor/tensor.h"

namespace retro::ops
{

/// Calls f(pointer to the elements, row-major) with them as double, int64 or uint64: the types in which numbers of
/// every type are compared exactly.
template <class F>
auto withComparable(const tensor::Tensor& t, const F& f)
{
    using tensor::DType;
    if (tensor::isFloating(t.dtype())) {
        const tensor::Tensor wide = t.to(DType::Float64).contiguous();
        return f(reinterpret_cast<const double*>(wide.rawData()));
    }
    const tensor::Tensor wide = t.to(computingType(t.dtype())).contiguous();
    if (wide.dtype() == DType::UInt64) {
        return f(reinterpret_cast<const std::uint64_t*>(wide.rawData()));
    }
    return f(reinterpret_cast<const std::int64_t*>(wide.rawData()));
}

} // namespace retro::ops
