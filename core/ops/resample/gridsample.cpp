// SPDX-License-Identifier: Apache-2.0
#include "core/ops/bind/bindcheck.h"
#include "core/ops/bind/choice.h"
#include "core/ops/bind/operatorbase.h"
#include "core/ops/families.h"
#include "core/ops/kernel/filled.h"
#include "core/ops/linearoperands.h"
#include "core/ops/threads.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <vector>

namespace retro::ops
{

namespace
{

enum class GridInterpolation : std::uint8_t { Nearest, Linear, Cubic };
enum class GridPadding : std::uint8_t { Zeros, Border, Reflection };

/// Largest number of spatial axes that are sampled.
inline constexpr std::size_t kMaxSampledAxes = 3;

/// One element that a sample reads: its position among the spatial axes, its weight, and the derivative of the weight
/// by each normalised coordinate.
struct SampleTap
{
    std::int64_t at = 0;
    double weight = 1;
    std::array<double, kMaxSampledAxes> slopes{1, 1, 1};
};

/// Samples of an image at normalised coordinates (−1 … 1), as the standard's GridSample defines them.
class GridSampler
{
public:
    GridSampler(std::vector<std::int64_t> extents, GridInterpolation interpolation, GridPadding padding,
                bool alignsCorners)
        : m_extents(std::move(extents)), m_interpolation(interpolation), m_padding(padding),
          m_alignsCorners(alignsCorners)
    {}

    [[nodiscard]] std::size_t axes() const { return m_extents.size(); }
    /// The elements that the sample at `coordinates` (one per axis, the last axis first) reads.
    void tapsAt(const std::array<double, kMaxSampledAxes>& coordinates, std::vector<SampleTap>& taps) const;

private:
    struct AxisTaps
    {
        std::size_t count = 0;
        std::array<std::int64_t, 4> at{}; ///< −1: outside, reads 0
        std::array<double, 4> weights{};
        std::array<double, 4> slopes{};
    };

    /// Where a coordinate lies on an axis of that extent, and the derivative; as the padding has it.
    struct Position
    {
        double at = 0;
        double slope = 0;
    };
    [[nodiscard]] Position positionOf(double coordinate, std::int64_t extent) const;
    [[nodiscard]] static Position reflected(const Position& p, double low, double high);
    [[nodiscard]] AxisTaps along(double coordinate, std::int64_t extent) const;
    /// Every tap so far combined with those of one more, inner axis, whose coordinate is number `component`.
    static void extend(const AxisTaps& along, std::int64_t extent, std::size_t component, std::vector<SampleTap>& taps);
    [[nodiscard]] std::int64_t padded(std::int64_t at, std::int64_t extent) const;
    [[nodiscard]] double low() const { return m_alignsCorners ? 0 : -0.5; }
    [[nodiscard]] double high(std::int64_t extent) const
    {
        return static_cast<double>(extent) - (m_alignsCorners ? 1 : 0.5);
    }

    std::vector<std::int64_t> m_extents;
    GridInterpolation m_interpolation;
    GridPadding m_padding;
    bool m_alignsCorners;
};

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

using tensor::Shape;

/// An image (operand 0) sampled where a grid (operand 1) says: linear in the image.
class GridSample final : public Operator<Differentiable>, public LinearOperands
{
public:
    GridSample(TensorType output, Shape image, Shape grid, GridSampler sampler)
        : Operator(std::move(output)), m_image(std::move(image)), m_grid(std::move(grid)),
          m_sampler(std::move(sampler)), m_size(tensor::elementCount({m_image.begin() + 2, m_image.end()})),
          m_samples(tensor::elementCount({m_grid.begin() + 1, m_grid.end() - 1}))
    {}

    [[nodiscard]] std::vector<Tensor> forward(std::span<const Tensor> operands) const override
    {
        const Tensor x = operands[0].contiguous();
        const Tensor grid = operands[1].contiguous();
        return {accumulated(x.dtype(), m_outputTypes[0].shape, [&](auto* y) {
            const auto* in = elements(x, y);
            forEachTap(elements(grid, y), [&](const Place& at, const SampleTap& tap) {
                y[at.result] += static_cast<std::decay_t<decltype(*y)>>(tap.weight) * in[at.image + tap.at];
            });
        })};
    }
    [[nodiscard]] bool isLinearIn(std::size_t slot) const override { return slot == 0; }
    [[nodiscard]] Reads savedForGradient() const override { return {Reads::bit(0) | Reads::bit(1), 0}; }
    [[nodiscard]] Tensor pullback(std::span<const Tensor> s, std::span<const Tensor> operands, std::span<const Tensor>,
                                  std::size_t slot) const override
    {
        const Tensor gradient = s[0].contiguous();
        const Tensor grid = operands[1].contiguous();
        const Tensor x = operands[0].contiguous();
        if (slot == 0) {
            return accumulated(gradient.dtype(), m_image, [&](auto* r) {
                const auto* g = elements(gradient, r);
                forEachTap(elements(grid, r), [&](const Place& at, const SampleTap& tap) {
                    r[at.image + tap.at] += static_cast<std::decay_t<decltype(*r)>>(tap.weight) * g[at.result];
                });
            });
        }
        return accumulated(gradient.dtype(), m_grid, [&](auto* r) {
            using T = std::decay_t<decltype(*r)>;
            const T* g = elements(gradient, r);
            const T* in = elements(x, r);
            forEachTap(elements(grid, r), [&](const Place& at, const SampleTap& tap) {
                const T product = g[at.result] * in[at.image + tap.at];
                for (std::size_t c = 0; c < m_sampler.axes(); ++c) {
                    r[at.grid + static_cast<std::int64_t>(c)] += static_cast<T>(tap.slopes[c]) * product;
                }
            });
        });
    }
    /// The grid chooses coefficients and takes no relevance.
    [[nodiscard]] double share(std::span<const std::uint8_t>, std::size_t slot) const override
    {
        return slot == 0 ? 1 : 0;
    }

private:
    /// Offsets of one sample of one channel: of the channel's image, of the result element, of the grid's coordinates.
    struct Place
    {
        std::int64_t image;
        std::int64_t result;
        std::int64_t grid;
    };

    /// Calls f(place, tap) for every element that every sample of every channel reads; the images of a batch run in
    /// parallel.
    template <class T, class F>
    void forEachTap(const T* grid, const F& f) const
    {
        const std::int64_t channels = m_image[1];
        const auto components = static_cast<std::int64_t>(m_sampler.axes());
        const auto sampleImage = [&](std::int64_t n, std::vector<SampleTap>& taps) {
            for (std::int64_t i = 0; i < m_samples; ++i) {
                const std::int64_t gridAt = (n * m_samples + i) * components;
                std::array<double, kMaxSampledAxes> coordinates{};
                for (std::size_t c = 0; c < m_sampler.axes(); ++c) {
                    coordinates[c] = static_cast<double>(grid[gridAt + static_cast<std::int64_t>(c)]);
                }
                m_sampler.tapsAt(coordinates, taps);
                for (std::int64_t plane = n * channels; plane < (n + 1) * channels; ++plane) {
                    const Place at{plane * m_size, plane * m_samples + i, gridAt};
                    std::for_each(taps.begin(), taps.end(), [&](const SampleTap& tap) { f(at, tap); });
                }
            }
        };
        parallelFor(m_image[0], 1, [&](std::int64_t begin, std::int64_t end) {
            std::vector<SampleTap> taps;
            for (std::int64_t n = begin; n < end; ++n) {
                sampleImage(n, taps);
            }
        });
    }

    Shape m_image;
    Shape m_grid;
    GridSampler m_sampler;
    std::int64_t m_size;
    std::int64_t m_samples;
};

base::Result<void> expectGrid(const BindContext& context)
{
    const Shape& x = context.operandTypes[0].shape;
    const Shape& grid = context.operandTypes[1].shape;
    if (x.size() < 3 || x.size() > 2 + kMaxSampledAxes || grid.size() != x.size() || grid[0] != x[0] ||
        grid.back() != static_cast<std::int64_t>(x.size() - 2)) {
        return context.error("an image batch × channels × one to three axes and a grid batch × positions × one "
                             "coordinate per axis are needed");
    }
    if (std::find(x.begin() + 2, x.end(), 0) != x.end()) {
        return context.error("an image without elements cannot be sampled");
    }
    return {};
}

BoundResult bindGridSample(const BindContext& context)
{
    RETRO_CHECK(expect(context, OperandTypes::Floats));
    RETRO_CHECK(expectGrid(context));
    RETRO_TRY(const auto mode, choice<GridInterpolation>(context, "mode", "linear",
                                                         {{"linear", GridInterpolation::Linear},
                                                          {"bilinear", GridInterpolation::Linear},
                                                          {"nearest", GridInterpolation::Nearest},
                                                          {"cubic", GridInterpolation::Cubic},
                                                          {"bicubic", GridInterpolation::Cubic}}));
    RETRO_TRY(const auto padding, choice<GridPadding>(context, "padding_mode", "zeros",
                                                      {{"zeros", GridPadding::Zeros},
                                                       {"border", GridPadding::Border},
                                                       {"reflection", GridPadding::Reflection}}));
    const Shape& x = firstType(context).shape;
    const Shape& grid = context.operandTypes[1].shape;
    Shape shape{x[0], x[1]};
    shape.insert(shape.end(), grid.begin() + 1, grid.end() - 1);
    RETRO_CHECK(expectSize(context, shape));
    GridSampler sampler({x.begin() + 2, x.end()}, mode, padding, context.intAttribute("align_corners", 0) != 0);
    return bound<GridSample>(TensorType{firstType(context).dtype, std::move(shape)}, x, grid, std::move(sampler));
}

} // namespace

const OperatorFamily kGridSampleOperators{
    {"", "GridSample", 16, 0, "function", true, bindGridSample},
};

} // namespace retro::ops
