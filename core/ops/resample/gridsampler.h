// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstdint>
#include <vector>

namespace retro::ops
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

} // namespace retro::ops
