// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/tensor/tensor.h"

#include <cstdint>
#include <utility>
#include <vector>

namespace retro::lrp
{

/// What the elements of a value put into a region: weight · relevance, element by element.
struct RegionParts
{
    double sum = 0;
    double magnitude = 0;   ///< Σ |part|
    std::int64_t count = 0; ///< of those that count: at least a thousandth of the largest |part|
    std::vector<std::pair<std::vector<std::int64_t>, double>> largest; ///< place and part, by |part|, descending
    std::vector<std::pair<std::int64_t, double>> channels; ///< along axis 1: Σ of the parts that count, as `largest`
    tensor::Tensor where; ///< of values with four axes: parts that count, summed over axes 0 and 1, double
};

/// `weights` and `relevance` of one shape and type, float or double; at most `most` of the largest parts. The same bits
/// for any number of threads.
[[nodiscard]] RegionParts partsOf(const tensor::Tensor& weights, const tensor::Tensor& relevance, std::size_t most);

} // namespace retro::lrp
