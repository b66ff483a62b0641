// SPDX-License-Identifier: Apache-2.0
#include "core/engine/evaluate/flipping.h"

#include "core/engine/evaluate/draws.h"

#include <algorithm>
#include <numeric>

namespace retro::engine
{

using base::Result;
using Order = std::vector<std::size_t>;

namespace
{

// Units that are gone at each point.
std::vector<std::size_t> pointsOf(std::size_t units, int steps)
{
    const std::size_t count = std::min(units, static_cast<std::size_t>(std::max(1, steps)));
    std::vector<std::size_t> points;
    for (std::size_t i = 0; i <= count; ++i) {
        points.push_back(i * units / count);
    }
    return points;
}

double areaBelow(const std::vector<double>& scores, const std::vector<std::size_t>& points)
{
    double area = 0;
    for (std::size_t i = 1; i < scores.size(); ++i) {
        area += (scores[i] + scores[i - 1]) / 2 * static_cast<double>(points[i] - points[i - 1]);
    }
    return points.back() == 0 ? 0 : area / static_cast<double>(points.back());
}

Result<Curve> curveOf(const Subject& subject, const Units& units, const Order& order,
                      const std::vector<std::size_t>& points, const EvaluationProgress& progress)
{
    Curve curve;
    Removal removal(subject.input(), units);
    std::size_t removed = 0;
    for (const std::size_t point : points) {
        for (; removed < point; ++removed) {
            removal.remove(order[removed]);
        }
        RETRO_TRY(const double score, subject.score(removal.tensor()));
        curve.scores.push_back(score);
        report(progress, curve.scores.size(), points.size());
    }
    curve.area = areaBelow(curve.scores, points);
    return curve;
}

} // namespace

Result<FlippingCurves> flip(const Subject& subject, const Units& units, const tensor::Tensor& relevance,
                            const FlippingOptions& options, const EvaluationProgress& progress)
{
    const std::vector<double> sums = units.sums(relevance);
    Order order(units.count());
    std::iota(order.begin(), order.end(), std::size_t{0});
    std::stable_sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) { return sums[a] > sums[b]; });
    const std::vector<std::size_t> points = pointsOf(units.count(), options.steps);
    FlippingCurves curves;
    for (const std::size_t point : points) {
        curves.removed.push_back(static_cast<double>(point) / static_cast<double>(units.count()));
    }
    RETRO_TRY(curves.mostFirst, curveOf(subject, units, order, points, progress));
    std::reverse(order.begin(), order.end());
    RETRO_TRY(curves.leastFirst, curveOf(subject, units, order, points, progress));
    return curves;
}

Result<Curve> flipAtRandom(const Subject& subject, const Units& units, const FlippingOptions& options,
                           const EvaluationProgress& progress)
{
    Draws draws(options.seed);
    Order order(units.count());
    std::iota(order.begin(), order.end(), std::size_t{0});
    const std::vector<std::size_t> points = pointsOf(units.count(), options.steps);
    Curve mean;
    mean.scores.assign(points.size(), 0);
    const int count = std::max(1, options.randomOrders);
    for (int i = 0; i < count; ++i) {
        draws.shuffle(std::span(order));
        RETRO_TRY(const Curve curve, curveOf(subject, units, order, points, progress));
        for (std::size_t k = 0; k < curve.scores.size(); ++k) {
            mean.scores[k] += curve.scores[k] / count;
        }
        mean.area += curve.area / count;
    }
    return mean;
}

} // namespace retro::engine
