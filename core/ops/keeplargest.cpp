// SPDX-License-Identifier: Apache-2.0
#include "core/ops/keeplargest.h"

#include "core/ops/kernel/visitnumber.h"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <vector>

namespace retro::ops
{

using tensor::Tensor;

namespace
{

// A NaN counts as larger than every number, so that none is lost from sight.
template <class T>
bool isBefore(T a, T b)
{
    return std::isnan(b) ? false : std::isnan(a) || a > b;
}

template <class T>
void keepInSample(const T* from, T* to, std::size_t size, double fraction)
{
    const auto wanted = static_cast<std::size_t>(fraction * static_cast<double>(size));
    const std::size_t count = std::clamp<std::size_t>(wanted, 1, size);
    std::vector<std::size_t> order(size);
    std::iota(order.begin(), order.end(), std::size_t{0});
    const auto isFirst = [from](std::size_t a, std::size_t b) {
        return isBefore(from[a], from[b]) || (!isBefore(from[b], from[a]) && a < b);
    };
    std::nth_element(order.begin(), order.begin() + static_cast<std::ptrdiff_t>(count - 1), order.end(), isFirst);
    for (std::size_t i = 0; i < count; ++i) {
        to[order[i]] = from[order[i]];
    }
}

} // namespace

Tensor keepLargest(const Tensor& values, double fraction)
{
    if (values.size() == 0) {
        return values;
    }
    const Tensor dense = values.contiguous();
    const auto samples = static_cast<std::size_t>(dense.rank() < 2 ? 1 : dense.shape().front());
    const std::size_t size = static_cast<std::size_t>(dense.size()) / samples;
    return visitFloat(dense.dtype(), [&](auto zero) {
        using T = decltype(zero);
        tensor::TensorBuffer result(dense.dtype(), dense.shape());
        std::fill_n(result.data<T>(), dense.size(), T{0});
        for (std::size_t sample = 0; sample < samples; ++sample) {
            keepInSample(dense.data<T>() + sample * size, result.data<T>() + sample * size, size, fraction);
        }
        return std::move(result).freeze();
    });
}

} // namespace retro::ops
