// SPDX-License-Identifier: Apache-2.0
#include "core/engine/evaluate/similarity.h"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <vector>

namespace retro::engine
{

namespace
{

using Values = std::vector<double>;

Values valuesOf(const tensor::Tensor& tensor)
{
    Values values;
    for (std::int64_t i = 0; i < tensor.size(); ++i) {
        values.push_back(tensor.at(i));
    }
    return values;
}

double cosineOf(const Values& a, const Values& b)
{
    const auto product = [](const Values& x, const Values& y) {
        return std::inner_product(x.begin(), x.end(), y.begin(), 0.0);
    };
    const double lengths = std::sqrt(product(a, a)) * std::sqrt(product(b, b));
    return lengths == 0 ? 0 : product(a, b) / lengths;
}

// Ranks less their mean.
Values centredRanks(const Values& values)
{
    std::vector<std::size_t> order(values.size());
    std::iota(order.begin(), order.end(), std::size_t{0});
    std::sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) { return values[a] < values[b]; });
    Values ranks(values.size());
    for (std::size_t i = 0; i < order.size();) {
        std::size_t end = i;
        while (end < order.size() && values[order[end]] == values[order[i]]) {
            ++end;
        }
        const double rank = (static_cast<double>(i) + static_cast<double>(end - 1)) / 2;
        for (; i < end; ++i) {
            ranks[order[i]] = rank - (static_cast<double>(values.size()) - 1) / 2;
        }
    }
    return ranks;
}

} // namespace

Similarity similarity(const tensor::Tensor& a, const tensor::Tensor& b)
{
    const Values first = valuesOf(a);
    const Values second = valuesOf(b);
    return {cosineOf(first, second), cosineOf(centredRanks(first), centredRanks(second))};
}

} // namespace retro::engine
