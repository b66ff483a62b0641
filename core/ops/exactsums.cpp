// SPDX-License-Identifier: Apache-2.0
#include "core/ops/exactsums.h"

#include "core/ops/kernel/visitnumber.h"

#include <array>
namespace retro::ops::algebra
{

namespace
{

using base::ExactSum;
using tensor::Tensor;

constexpr std::int64_t kExactLanes = 4;

template <class T>
ExactSum sumOf(const T* data, std::int64_t count)
{
    std::array<ExactSum, kExactLanes> lanes;
    for (std::int64_t i = 0; i < count; ++i) {
        lanes[static_cast<std::size_t>(i % kExactLanes)].add(static_cast<double>(data[i]));
    }
    for (std::size_t lane = 1; lane < lanes.size(); ++lane) {
        lanes[0].add(lanes[lane]);
    }
    return lanes[0];
}

} // namespace

ExactSum exactSum(const Tensor& a)
{
    const Tensor dense = a.isDense() ? a : a.contiguous();
    return visitFloat(a.dtype(), [&](auto zero) { return sumOf(dense.data<decltype(zero)>(), dense.size()); });
}

} // namespace retro::ops::algebra
