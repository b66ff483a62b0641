// SPDX-License-Identifier: Apache-2.0
#include "core/ops/resample/axisresampling.h"

#include "core/base/memorylimit.h"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <type_traits>

namespace retro::ops
{

namespace
{

/// A number and its slope by one number of the axis.
struct Sloped
{
    double value = 0;
    double slope = 0;

    Sloped(double of, double by = 0) : value(of), slope(by) {} // numbers are meant to be taken as they are
    Sloped operator-() const { return {-value, -slope}; }
    friend Sloped operator+(Sloped a, Sloped b) { return {a.value + b.value, a.slope + b.slope}; }
    friend Sloped operator-(Sloped a, Sloped b) { return {a.value - b.value, a.slope - b.slope}; }
    friend Sloped operator*(Sloped a, Sloped b) { return {a.value * b.value, a.slope * b.value + a.value * b.slope}; }
    friend Sloped operator/(Sloped a, Sloped b)
    {
        return {a.value / b.value, (a.slope - a.value / b.value * b.slope) / b.value};
    }
};

double valueOf(double x) { return x; }
double valueOf(Sloped x) { return x.value; }

/// At a kink the slope of smaller positions: a scale that grows, and keeps the extent, moves positions down.
template <class T>
T magnitude(T x)
{
    return valueOf(x) < 0 ? -x : x;
}

/// The numbers of an axis that positions depend on.
template <class T>
struct AxisNumbers
{
    T scale;
    T begin;
    T end;
};

/// Where element `o` of the result lies on the operand's axis, step by step as onnxruntime computes it.
template <class T>
T positionOf(const ResampledAxis& axis, const AxisNumbers<T>& numbers, CoordinateMode mode, std::int64_t o)
{
    using Number = std::conditional_t<std::is_same_v<T, float>, float, double>;
    using Wide = std::conditional_t<std::is_same_v<T, float>, double, T>;
    constexpr Number kHalf{0.5};
    const auto at = static_cast<Number>(o);
    const auto last = static_cast<Number>(axis.from - 1);
    const auto to = static_cast<Number>(axis.to);
    const T scaled = numbers.scale * static_cast<Number>(axis.from); // not rounded down to whole elements
    switch (mode) {
    case CoordinateMode::HalfPixel:
        return (at + kHalf) / numbers.scale - kHalf;
    case CoordinateMode::HalfPixelSymmetric: {
        const Wide offset = static_cast<Number>(axis.from) / 2 * (1 - to / scaled);
        return static_cast<T>(offset + (at + 0.5) / Wide(numbers.scale) - 0.5);
    }
    case CoordinateMode::PytorchHalfPixel:
        return axis.to > 1 ? (at + kHalf) / numbers.scale - kHalf : T(0);
    case CoordinateMode::AlignCorners:
        return axis.to > 1 ? at * last / (T(to) - 1) : T(0);
    case CoordinateMode::Asymmetric:
        return at / numbers.scale;
    case CoordinateMode::TfHalfPixelForNn:
        return (at + kHalf) / numbers.scale;
    case CoordinateMode::TfCropAndResize:
        return axis.to > 1 ? numbers.begin * last + at * (numbers.end - numbers.begin) * last / (to - 1)
                           : kHalf * (numbers.begin + numbers.end) * last;
    }
    return at;
}

double exactPosition(const ResampledAxis& axis, CoordinateMode mode, std::int64_t o)
{
    return positionOf(axis, AxisNumbers<double>{axis.scale, axis.begin, axis.end}, mode, o);
}

/// The same in float32, as onnxruntime and PyTorch compute it: what is decided by it (which neighbour, inside or
/// outside) is decided as there. Numbers beyond float32 are taken as they are.
double roundedPosition(const ResampledAxis& axis, CoordinateMode mode, std::int64_t o)
{
    const AxisNumbers<float> numbers{static_cast<float>(axis.scale), static_cast<float>(axis.begin),
                                     static_cast<float>(axis.end)};
    const auto position = static_cast<double>(positionOf(axis, numbers, mode, o));
    return std::isfinite(position) ? position : exactPosition(axis, mode, o);
}

/// Weights of consecutive neighbours, the first of which is `first`.
template <class T>
struct Neighbours
{
    std::int64_t first = 0;
    std::vector<T> weights;
};

/// A position this close to the middle of two neighbours lies in it: it may have been rounded to float32.
constexpr double kHalfWay = 1e-6;

std::int64_t nearest(double position, NearestMode mode, double scale)
{
    switch (mode) {
    case NearestMode::RoundPreferFloor:
        return static_cast<std::int64_t>(std::ceil(position - 0.5 - kHalfWay));
    case NearestMode::RoundPreferCeil:
        return static_cast<std::int64_t>(std::floor(position + 0.5 + kHalfWay));
    case NearestMode::Floor:
        return static_cast<std::int64_t>(std::floor(position));
    case NearestMode::Ceil:
        return static_cast<std::int64_t>(std::ceil(position));
    case NearestMode::Simple:
        return static_cast<std::int64_t>(scale < 1 ? std::ceil(position) : std::floor(position));
    }
    return 0;
}

template <class T>
T triangle(T distance)
{
    const T weight = 1 - magnitude(distance);
    return valueOf(weight) < 0 ? T(0) : weight;
}

/// Keys' convolution kernel with coefficient a.
template <class T>
T cubic(T distance, double a)
{
    const T x = magnitude(distance);
    if (valueOf(x) <= 1) {
        return ((a + 2) * x - (a + 3)) * x * x + 1;
    }
    return valueOf(x) < 2 ? ((a * x - 5 * a) * x + 8 * a) * x - 4 * a : T(0);
}

/// All elements that the kernel around `position` reaches; antialiasing widens it when the axis shrinks.
template <class T>
Neighbours<T> interpolated(T position, const ResampleMode& mode, T scale)
{
    const bool isLinear = mode.interpolation == Interpolation::Linear;
    const T squeeze = mode.isAntialiased && valueOf(scale) < 1 ? scale : T(1);
    const double reach = (isLinear ? 1 : 2) / valueOf(squeeze);
    // The neighbour on the left is always a different one: at an integer position it has weight 0.
    const double base = std::ceil(valueOf(position)) - 1;
    const double first = std::floor(-reach) + 1;
    const double last = isLinear ? 1 - first : 2 - first - 1;
    Neighbours<T> result{static_cast<std::int64_t>(base + first), {}};
    for (double i = first; i <= last; ++i) {
        const T distance = squeeze * (base + i - position);
        result.weights.push_back(isLinear ? triangle(distance) : cubic(distance, mode.cubicCoefficient));
    }
    return result;
}

template <class T>
void normalise(std::vector<T>& weights)
{
    const T sum = std::accumulate(weights.begin(), weights.end(), T(0));
    for (T& weight : weights) {
        weight = valueOf(sum) == 0 ? T(0) : weight / sum;
    }
}

/// Elements so far outside are not told apart: positions fit integers.
constexpr double kFar = 0x1p40;

template <class T>
T notFar(T position)
{
    return std::abs(valueOf(position)) <= kFar ? position : T(std::clamp(valueOf(position), -kFar, kFar));
}

/// Of linear and cubic interpolation.
template <class T>
Neighbours<T> neighboursOf(const ResampledAxis& axis, const ResampleMode& mode, T scale, T position)
{
    Neighbours<T> result = interpolated(notFar(position), mode, scale);
    for (std::size_t i = 0; mode.excludesOutside && i < result.weights.size(); ++i) {
        const std::int64_t at = result.first + static_cast<std::int64_t>(i);
        result.weights[i] = at < 0 || at >= axis.from ? T(0) : result.weights[i];
    }
    if (mode.excludesOutside || mode.isAntialiased) {
        normalise(result.weights);
    }
    return result;
}

/// With antialias, onnxruntime resamples no axis that keeps its extent.
bool isIdentity(const ResampledAxis& axis, const ResampleMode& mode)
{
    return axis.isKept || (mode.isAntialiased && axis.to == axis.from);
}

Neighbours<double> weightedNeighbours(const ResampledAxis& axis, const ResampleMode& mode, std::int64_t o)
{
    if (isIdentity(axis, mode)) {
        return {o, {1}};
    }
    const bool isNearest = mode.interpolation == Interpolation::Nearest;
    const double position = isNearest || mode.isRounded ? roundedPosition(axis, mode.coordinates, o)
                                                        : exactPosition(axis, mode.coordinates, o);
    return isNearest ? Neighbours<double>{nearest(notFar(position), mode.nearest, axis.scale), {1}}
                     : neighboursOf(axis, mode, axis.scale, position);
}

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

double weightOf(double neighbour) { return neighbour; }
double weightOf(Sloped neighbour) { return neighbour.slope; }

/// The table of an axis; neighboursAt(o) are those of element o of the result, which may lie outside the operand.
template <class F>
AxisWeights tableOf(const ResampledAxis& axis, const ResampleMode& mode, const F& neighboursAt)
{
    base::claimMemory(leastBytesOf(axis, mode));
    const bool isCrop = mode.coordinates == CoordinateMode::TfCropAndResize && !axis.isKept;
    AxisWeights result;
    result.from = axis.from;
    for (std::int64_t o = 0; o < axis.to; ++o) {
        const auto neighbours = neighboursAt(o);
        for (std::size_t i = 0; i < neighbours.weights.size(); ++i) {
            const double weight = weightOf(neighbours.weights[i]);
            if (weight != 0) {
                const std::int64_t at = neighbours.first + static_cast<std::int64_t>(i);
                result.indices.push_back(std::clamp<std::int64_t>(at, 0, axis.from - 1));
                result.weights.push_back(weight);
            }
        }
        const double position = isCrop ? roundedPosition(axis, mode.coordinates, o) : 0;
        result.starts.push_back(static_cast<std::int64_t>(result.indices.size()));
        result.isOutside.push_back(isCrop && (position < 0 || position > static_cast<double>(axis.from - 1)));
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

AxisWeights weightsOf(const ResampledAxis& axis, const ResampleMode& mode)
{
    return tableOf(axis, mode, [&](std::int64_t o) { return weightedNeighbours(axis, mode, o); });
}

AxisWeights weightSlopesOf(const ResampledAxis& axis, const ResampleMode& mode, AxisNumber by)
{
    const AxisNumbers<Sloped> numbers{{axis.scale, by == AxisNumber::Scale ? 1.0 : 0.0},
                                      {axis.begin, by == AxisNumber::Begin ? 1.0 : 0.0},
                                      {axis.end, by == AxisNumber::End ? 1.0 : 0.0}};
    const bool isSteps = isIdentity(axis, mode) || mode.interpolation == Interpolation::Nearest;
    return tableOf(axis, mode, [&](std::int64_t o) {
        return isSteps ? Neighbours<Sloped>()
                       : neighboursOf(axis, mode, numbers.scale, positionOf(axis, numbers, mode.coordinates, o));
    });
}

} // namespace retro::ops
