// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/engine/evaluate/subject.h"
#include "core/engine/evaluate/units.h"

#include <vector>

namespace retro::engine
{

/// How units are removed.
struct FlippingOptions
{
    int steps = 20;       ///< points after the first; fewer when there are fewer units
    int randomOrders = 3; ///< orders that the baseline is the mean of
    std::uint64_t seed = 1;
};

/// A curve of scores over the share of units that were removed, and the area below it (trapezoids over 0 to 1).
struct Curve
{
    std::vector<double> scores;
    double area = 0;
};

/// Scores while units are removed (Bach et al. 2015; Samek et al. 2017).
struct FlippingCurves
{
    std::vector<double> removed; ///< share of the units, 0 to 1
    Curve mostFirst;             ///< MoRF
    Curve leastFirst;            ///< LeRF
    /// Area between the two: area of leastFirst − area of mostFirst. The larger, the better the order.
    [[nodiscard]] double between() const { return leastFirst.area - mostFirst.area; }
};

/// Removes units by their summed relevance, the most relevant first and the least relevant first. Errors: those of the
/// forward passes.
[[nodiscard]] base::Result<FlippingCurves> flip(const Subject& subject, const Units& units,
                                                const tensor::Tensor& relevance, const FlippingOptions& options,
                                                const EvaluationProgress& progress = {});
/// The mean curve of random orders: what an order that knows nothing gives.
[[nodiscard]] base::Result<Curve> flipAtRandom(const Subject& subject, const Units& units,
                                               const FlippingOptions& options, const EvaluationProgress& progress = {});

} // namespace retro::engine
