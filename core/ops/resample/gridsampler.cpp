// SPDX-License-Identifier: Apache-2.0
#include "core/ops/resample/gridsampler.h"

#include <algorithm>
#include <cmath>

namespace retro::ops
{

namespace
{

constexpr double kCubic = -0.75;

/// Keys' kernel for the element at a signed distance t of it, and its derivative by t.
double cubicWeight(double t)
{
    const double x = std::abs(t);
    return x <= 1 ? ((kCubic + 2) * x - (kCubic + 3)) * x * x + 1
                  : ((kCubic * x - 5 * kCubic) * x + 8 * kCubic) * x - 4 * kCubic;
}
double cubicSlope(double t)
{
    const double x = std::abs(t);
    const double slope =
        x <= 1 ? (3 * (kCubic + 2) * x - 2 * (kCubic + 3)) * x : (3 * kCubic * x - 10 * kCubic) * x + 8 * kCubic;
    return t < 0 ? -slope : slope;
}

} // namespace

std::int64_t GridSampler::padded(std::int64_t at, std::int64_t extent) const
{
    switch (m_padding) {
    case GridPadding::Zeros:
        return at >= 0 && at < extent ? at : -1;
    case GridPadding::Border:
        return std::clamp<std::int64_t>(at, 0, extent - 1);
    case GridPadding::Reflection:
        break;
    }
    const double mirrored = reflected({static_cast<double>(at), 0}, low(), high(extent)).at;
    return std::clamp<std::int64_t>(static_cast<std::int64_t>(mirrored), 0, extent - 1);
}

/// Mirrored at the bounds until it lies between them.
GridSampler::Position GridSampler::reflected(const Position& p, double low, double high)
{
    const double range = high - low;
    if (range <= 0) {
        return {low, 0};
    }
    const double beyond = p.at < low ? low - p.at : p.at - high;
    if (beyond <= 0) {
        return p;
    }
    const double turns = std::floor(beyond / range);
    const double rest = beyond - turns * range;
    const bool isEven = std::fmod(turns, 2) == 0;
    const bool fromLow = (p.at < low) == isEven;
    // The rest grows with −at below and with at above; it is counted from one end or the other.
    const double sign = (p.at < low ? -1 : 1) * (fromLow ? 1 : -1);
    return {fromLow ? low + rest : high - rest, sign * p.slope};
}

GridSampler::Position GridSampler::positionOf(double coordinate, std::int64_t extent) const
{
    const auto length = static_cast<double>(extent);
    const double half = m_alignsCorners ? (length - 1) / 2 : length / 2;
    Position p{(coordinate + 1) * half + low(), half};
    if (m_interpolation == GridInterpolation::Nearest) {
        p = {std::nearbyint(p.at), 0};
    }
    if (p.at >= low() && p.at <= high(extent)) {
        return p;
    }
    const bool isPointMoved = m_interpolation != GridInterpolation::Cubic; // else each of its neighbours is: padded()
    if (isPointMoved && m_padding == GridPadding::Border) {
        p = {std::clamp(p.at, 0.0, length - 1), 0};
    } else if (isPointMoved && m_padding == GridPadding::Reflection) {
        p = reflected(p, low(), high(extent));
    }
    constexpr double kFar = 1e9; // positions fit integers; NaN lies far outside
    return {std::isfinite(p.at) ? std::clamp(p.at, -kFar, kFar) : -kFar, p.slope};
}

GridSampler::AxisTaps GridSampler::along(double coordinate, std::int64_t extent) const
{
    const Position p = positionOf(coordinate, extent);
    AxisTaps taps;
    if (m_interpolation == GridInterpolation::Nearest) {
        taps.count = 1;
        taps.at[0] = padded(static_cast<std::int64_t>(p.at), extent);
        taps.weights[0] = 1;
        return taps;
    }
    const bool isLinear = m_interpolation == GridInterpolation::Linear;
    const double first = std::floor(p.at) - (isLinear ? 0 : 1);
    taps.count = isLinear ? 2 : 4;
    for (std::size_t i = 0; i < taps.count; ++i) {
        const double at = first + static_cast<double>(i);
        taps.at[i] = padded(static_cast<std::int64_t>(at), extent);
        taps.weights[i] = isLinear ? 1 - std::abs(p.at - at) : cubicWeight(p.at - at);
        taps.slopes[i] = p.slope * (isLinear ? 2 * static_cast<double>(i) - 1 : cubicSlope(p.at - at));
    }
    return taps;
}

void GridSampler::extend(const AxisTaps& along, std::int64_t extent, std::size_t component,
                         std::vector<SampleTap>& taps)
{
    std::vector<SampleTap> longer;
    for (const SampleTap& tap : taps) {
        for (std::size_t i = 0; i < along.count; ++i) {
            if (along.at[i] < 0) {
                continue;
            }
            SampleTap next{tap.at * extent + along.at[i], tap.weight * along.weights[i], tap.slopes};
            const double own = next.slopes[component] * along.slopes[i];
            std::for_each(next.slopes.begin(), next.slopes.end(), [&](double& slope) { slope *= along.weights[i]; });
            next.slopes[component] = own;
            longer.push_back(next);
        }
    }
    taps.swap(longer);
}

void GridSampler::tapsAt(const std::array<double, kMaxSampledAxes>& coordinates, std::vector<SampleTap>& taps) const
{
    taps.assign(1, {});
    for (std::size_t axis = 0; axis < axes(); ++axis) {
        const std::size_t component = axes() - 1 - axis; // the last axis comes first in the grid
        extend(along(coordinates[component], m_extents[axis]), m_extents[axis], component, taps);
    }
}

} // namespace retro::ops
