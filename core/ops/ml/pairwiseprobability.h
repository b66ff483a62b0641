// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <span>
#include <vector>

namespace retro::ops
{

/// Probabilities of `classes` classes from the decisions of every pair (i, j), i < j, in that order: a logistic
/// function of each with a and b, coupled by the second method of Wu, Lin and Weng (2004), as libsvm does it.
[[nodiscard]] std::vector<double> pairwiseProbabilities(std::size_t classes, std::span<const double> decisions,
                                                        std::span<const double> a, std::span<const double> b);

} // namespace retro::ops
