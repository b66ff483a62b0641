// SPDX-License-Identifier: Apache-2.0
#include "core/ops/kernel/divisionblock.h"

#include <span>

namespace retro::ops::algebra
{

DivisionAmounts& operator+=(DivisionAmounts& a, const DivisionAmounts& b)
{
    a.sums.dividend += b.sums.dividend;
    a.sums.overZero += b.sums.overZero;
    a.sums.product += b.sums.product;
    a.bias += b.bias;
    return a;
}

DivisionAmounts sumPairwise(const DivisionAmounts* parts, std::size_t count)
{
    if (count <= 2) {
        DivisionAmounts total = count == 0 ? DivisionAmounts() : parts[0];
        return count == 2 ? total += parts[1] : total;
    }
    DivisionAmounts left = sumPairwise(parts, count / 2);
    return left += sumPairwise(parts + count / 2, count - count / 2);
}

bool isOneSample(const Tensor& bias, const Tensor& base)
{
    const auto restOf = [](const tensor::Shape& all) { return std::span(all).subspan(1); };
    return bias.rank() > 1 && bias.rank() == base.rank() && bias.shape()[0] == 1 && bias.isDense() &&
           std::ranges::equal(restOf(bias.shape()), restOf(base.shape())) &&
           std::ranges::equal(restOf(bias.strides()), restOf(base.strides())) &&
           (base.shape()[0] == 1 || base.strides()[0] == bias.size());
}

} // namespace retro::ops::algebra
