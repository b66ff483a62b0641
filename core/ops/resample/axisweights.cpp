// SPDX-License-Identifier: Apache-2.0
#include "core/ops/resample/axisresampling.h"

#include "core/base/memorylimit.h"

#include <algorithm>
#include <cmath>
#include <numeric>

namespace retro::ops
{

namespace
{

/// Where element `o` of the result lies on the operand's axis.
double positionOf(const ResampledAxis& axis, CoordinateMode mode, std::int64_t o)
{
    const auto at = static_cast<double>(o);
    const auto from = static_cast<double>(axis.from);
    const double to = axis.scale * from; // of scales, not rounded down to whole elements
    const bool isOne = std::abs(to - 1) < 1e-9;
    const double halfPixel = (at + 0.5) / axis.scale - 0.5;
    switch (mode) {
    case CoordinateMode::HalfPixel:
        return halfPixel;
    case CoordinateMode::HalfPixelSymmetric:
        return halfPixel + from / 2 * (1 - static_cast<double>(axis.to) / to);
    case CoordinateMode::PytorchHalfPixel:
        return axis.to > 1 ? halfPixel : 0;
    case CoordinateMode::AlignCorners:
        return isOne ? 0 : at * (from - 1) / (to - 1);
    case CoordinateMode::Asymmetric:
        return at / axis.scale;
    case CoordinateMode::TfHalfPixelForNn:
        return (at + 0.5) / axis.scale;
    case CoordinateMode::TfCropAndResize:
        return (isOne ? (axis.begin + axis.end) / 2 : axis.begin + at * (axis.end - axis.begin) / (to - 1)) *
               (from - 1);
    }
    return at;
}

/// Weights of consecutive neighbours, the first of which is `first`.
struct Neighbours
{
    std::int64_t first = 0;
    std::vector<double> weights;
};

Neighbours nearest(double position, NearestMode mode, double scale)
{
    switch (mode) {
    case NearestMode::RoundPreferFloor:
        return {static_cast<std::int64_t>(std::ceil(position - 0.5)), {1}};
    case NearestMode::RoundPreferCeil:
        return {static_cast<std::int64_t>(std::floor(position + 0.5)), {1}};
    case NearestMode::Floor:
        return {static_cast<std::int64_t>(std::floor(position)), {1}};
    case NearestMode::Ceil:
        return {static_cast<std::int64_t>(std::ceil(position)), {1}};
    case NearestMode::Simple:
        return {static_cast<std::int64_t>(scale < 1 ? std::ceil(position) : std::floor(position)), {1}};
    }
    return {};
}

double triangle(double distance) { return std::max(1 - std::abs(distance), 0.0); }

/// Keys' convolution kernel with coefficient a.
double cubic(double distance, double a)
{
    const double x = std::abs(distance);
    if (x <= 1) {
        return ((a + 2) * x - (a + 3)) * x * x + 1;
    }
    return x < 2 ? ((a * x - 5 * a) * x + 8 * a) * x - 4 * a : 0;
}

/// All elements that the kernel around `position` reaches; antialiasing widens it when the axis shrinks.
Neighbours interpolated(double position, const ResampleMode& mode, double scale)
{
    const bool isLinear = mode.interpolation == Interpolation::Linear;
    const double squeeze = mode.isAntialiased ? std::min(scale, 1.0) : 1;
    const double reach = (isLinear ? 1 : 2) / squeeze;
    // The neighbour on the left is always a different one: at an integer position it has weight 0.
    const double base = std::ceil(position) - 1;
    const double first = std::floor(-reach) + 1;
    const double last = isLinear ? 1 - first : 2 - first - 1;
    Neighbours result{static_cast<std::int64_t>(base + first), {}};
    for (double i = first; i <= last; ++i) {
        const double distance = squeeze * (base + i - position);
        result.weights.push_back(isLinear ? triangle(distance) : cubic(distance, mode.cubicCoefficient));
    }
    return result;
}

void normalise(std::vector<double>& weights)
{
    const double sum = std::accumulate(weights.begin(), weights.end(), 0.0);
    for (double& weight : weights) {
        weight = sum == 0 ? 0 : weight / sum;
    }
}

Neighbours neighboursOf(double position, const ResampledAxis& axis, const ResampleMode& mode)
{
    if (mode.interpolation == Interpolation::Nearest) {
        return nearest(position, mode.nearest, axis.scale);
    }
    Neighbours result = interpolated(position, mode, axis.scale);
    for (std::size_t i = 0; mode.excludesOutside && i < result.weights.size(); ++i) {
        const std::int64_t at = result.first + static_cast<std::int64_t>(i);
        result.weights[i] = at < 0 || at >= axis.from ? 0 : result.weights[i];
    }
    if (mode.excludesOutside || mode.isAntialiased) {
        normalise(result.weights);
    }
    return result;
}

} // namespace

bool AxisWeights::isIdentity() const
{
    bool same = to() == from && static_cast<std::int64_t>(indices.size()) == from &&
                std::find(isOutside.begin(), isOutside.end(), true) == isOutside.end();
    for (std::int64_t o = 0; same && o < from; ++o) {
        const auto at = static_cast<std::size_t>(o);
        same = starts[at] == o && indices[at] == o && weights[at] == 1;
    }
    return same;
}

namespace
{

/// Elements so far outside are not told apart: positions fit integers.
constexpr double kFar = 0x1p40;

/// What the table of an axis takes while it grows; antialiasing adds to it.
std::uint64_t leastBytesOf(const ResampledAxis& axis, const ResampleMode& mode)
{
    constexpr std::uint64_t kGrowing = 2; // lists double
    const std::uint64_t taps = mode.interpolation == Interpolation::Nearest  ? 1
                               : mode.interpolation == Interpolation::Linear ? 2
                                                                             : 4;
    const std::uint64_t perElement = sizeof(std::int64_t) + taps * (sizeof(std::int64_t) + sizeof(double));
    return kGrowing * perElement * static_cast<std::uint64_t>(std::max<std::int64_t>(axis.to, 0)); // to: checked
}

} // namespace

AxisWeights weightsOf(const ResampledAxis& axis, const ResampleMode& mode)
{
    base::claimMemory(leastBytesOf(axis, mode));
    AxisWeights result;
    result.from = axis.from;
    for (std::int64_t o = 0; o < axis.to; ++o) {
        const double position = positionOf(axis, mode.coordinates, o);
        const Neighbours neighbours = neighboursOf(std::clamp(position, -kFar, kFar), axis, mode);
        for (std::size_t i = 0; i < neighbours.weights.size(); ++i) {
            const std::int64_t at = neighbours.first + static_cast<std::int64_t>(i);
            if (neighbours.weights[i] != 0) {
                result.indices.push_back(std::clamp<std::int64_t>(at, 0, axis.from - 1));
                result.weights.push_back(neighbours.weights[i]);
            }
        }
        result.starts.push_back(static_cast<std::int64_t>(result.indices.size()));
        result.isOutside.push_back(mode.coordinates == CoordinateMode::TfCropAndResize &&
                                   (position < 0 || position > static_cast<double>(axis.from - 1)));
    }
    return result;
}

} // namespace retro::ops
