// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/ops/ml/treescores.h"

#include <span>
#include <vector>

namespace retro::ops
{

/// Adds to `values`, by feature, the Shapley values of the raw score `score` of the trees at `x` against `baseline`
/// (both of as many features; NaN is a missing one): in a coalition, the features that are there have the numbers of
/// `x`, the others those of `baseline`. Exact for every test; the cost grows with the number of leaves. They add up to
/// the score at x less that at the baseline. The score must be a sum (TreeScores::whyNoSum). Source: Lundberg et al.
/// 2020, "independent" TreeSHAP.
void addTreeShapley(const TreeScores& scores, std::size_t score, std::span<const double> x,
                    std::span<const double> baseline, std::span<double> values);

} // namespace retro::ops
