// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/ops/reference/window.h"

#include <array>
#include <cstdint>

namespace retro::ops
{

/// Where the taps of a deformable convolution read, before offsets move them.
struct DeformGrid
{
    std::int64_t batch = 1;
    std::int64_t channels = 1; ///< of the image, all groups together
    std::int64_t offsetGroups = 1;
    reference::WindowAxis rows;
    reference::WindowAxis columns;

    [[nodiscard]] std::int64_t taps() const { return rows.kernel * columns.kernel; }
    [[nodiscard]] std::int64_t windows() const { return rows.windows * columns.windows; }
    [[nodiscard]] std::int64_t imageSize() const { return rows.image * columns.image; }
    [[nodiscard]] std::int64_t channelsPerOffset() const { return channels / offsetGroups; }
    /// Elements of one image's column matrix.
    [[nodiscard]] std::int64_t columnCount() const { return channels * taps() * windows(); }
};

/// Row-major data of an image batch × channels × height × width, of the offsets batch × 2·groups·taps × windows (y in
/// front of x), and of the mask batch × groups·taps × windows, which may be null.
template <class T>
struct DeformData
{
    const T* image = nullptr;
    const T* offsets = nullptr;
    const T* mask = nullptr;
};

enum class DeformOperand : std::uint8_t { Image, Offsets, Mask };

/// Reads an image at the positions that offsets give, by bilinear interpolation, times a mask; and the way back.
/// Outside the image there are zeros. The column matrix of an image is channels·taps × windows.
class DeformSampler
{
public:
    explicit DeformSampler(const DeformGrid& grid) : m_grid(grid) {}

    /// The column matrix of image n.
    template <class T>
    void read(const DeformData<T>& data, std::int64_t n, T* columns) const;
    /// Adds the gradient of Σ given · columns by one operand to `result`, which has the operand's layout.
    template <class T>
    void addBack(const DeformData<T>& data, std::int64_t n, const T* given, DeformOperand by, T* result) const;

private:
    struct Sample;
    void place(double y, double x, Sample& sample) const;
    template <class T, class F>
    void forEachSample(const T* offsets, std::int64_t n, const F& f) const;

    DeformGrid m_grid;
};

extern template void DeformSampler::read(const DeformData<float>&, std::int64_t, float*) const;
extern template void DeformSampler::read(const DeformData<double>&, std::int64_t, double*) const;
extern template void DeformSampler::addBack(const DeformData<float>&, std::int64_t, const float*, DeformOperand,
                                            float*) const;
extern template void DeformSampler::addBack(const DeformData<double>&, std::int64_t, const double*, DeformOperand,
                                            double*) const;

} // namespace retro::ops
