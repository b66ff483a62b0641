// SPDX-License-Identifier: Apache-2.0
#include "core/ops/quantise/integers.h"

#include "core/ops/algebra.h"
#include "core/ops/kernel/elementloop.h"

#include <algorithm>
#include <cmath>

namespace retro::ops
{

using tensor::DType;
using tensor::Shape;

bool isQuantised(DType type)
{
    return type == DType::Int8 || type == DType::UInt8 || type == DType::Int16 || type == DType::UInt16 ||
           (tensor::isNarrow(type) && type != DType::Float8E8M0);
}

std::pair<double, double> limitsOf(DType type)
{
    switch (type) {
    case DType::Int8:
        return {-128, 127};
    case DType::UInt8:
        return {0, 255};
    case DType::Int16:
        return {-32768, 32767};
    case DType::Int4:
        return {-8, 7};
    case DType::UInt4:
        return {0, 15};
    case DType::Int2:
        return {-2, 1};
    case DType::UInt2:
        return {0, 3};
    default:
        return {0, 65535};
    }
}

Tensor zeroPoints(std::span<const Tensor> operands, std::size_t slot, const Tensor& scale)
{
    return slot < operands.size() && operands[slot].isValid() ? operands[slot].to(DType::Float64).contiguous()
                                                              : Tensor::zeros(DType::Float64, scale.shape());
}

Tensor shifted(std::span<const Tensor> operands, std::size_t slot, std::size_t zeroSlot, const Shape& zeroShape)
{
    const Tensor values = operands[slot].to(DType::Float64);
    if (zeroSlot >= operands.size() || !operands[zeroSlot].isValid()) {
        return values;
    }
    const Tensor zero = operands[zeroSlot].to(DType::Float64).contiguous().reshaped(zeroShape);
    return algebra::addBroadcast(values, algebra::scale(zero, -1));
}

Tensor requantised(const Tensor& values, const Tensor& factor, const Tensor& zero, DType type)
{
    const auto [least, most] = limitsOf(type);
    const Tensor scaled = algebra::multiplyBroadcast(values, factor);
    const Tensor rounded = mapElements<double>(scaled, [](double v) { return std::nearbyint(v); });
    const Tensor moved = algebra::addBroadcast(rounded, zero);
    return mapElements<double>(moved, [low = least, high = most](double v) { return std::clamp(v, low, high); })
        .to(type);
}

} // namespace retro::ops
