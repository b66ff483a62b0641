// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/ops/reference/convolution.h"

#include <array>
#include <utility>
#include <vector>

namespace retro::ops::reference
{

/// Convolution and transposed convolution with weights that are all 1, channels innermost: a sum over the channels of
/// each group, then one sum of neighbours per axis, because a box is a product of intervals.
template <class T>
class BoxSums
{
public:
    explicit BoxSums(const ConvolutionShape& shape) : m_shape(shape) {}

    /// z = sums over the windows of x; x is batch × image × groups·channels, z batch × windows × groups·filters.
    void convolve(const T* x, T* z) const
    {
        std::vector<T> sums = overChannels(x, m_shape.imageSize(), m_shape.channels);
        for (std::size_t axis = 0; axis < m_shape.axes.size(); ++axis) {
            sums = overAxis(sums, axis, true);
        }
        repeat(sums, m_shape.filters, z);
    }

    /// x = the transposed map of z.
    void convolveTransposed(const T* z, T* x) const
    {
        std::vector<T> sums = overChannels(z, m_shape.windowCount(), m_shape.filters);
        for (std::size_t axis = m_shape.axes.size(); axis-- > 0;) {
            sums = overAxis(sums, axis, false);
        }
        repeat(sums, m_shape.channels, x);
    }

private:
    [[nodiscard]] std::vector<T> overChannels(const T* values, std::int64_t positions, std::int64_t channels) const
    {
        constexpr std::int64_t kSumLanes = 8;
        std::vector<T> sums(static_cast<std::size_t>(m_shape.batch * positions * m_shape.groups));
        for (T& sum : sums) {
            std::array<T, kSumLanes> lanes{};
            std::int64_t c = 0;
            for (; c + kSumLanes <= channels; c += kSumLanes) {
                for (std::int64_t lane = 0; lane < kSumLanes; ++lane) {
                    lanes[static_cast<std::size_t>(lane)] += values[c + lane];
                }
            }
            for (std::int64_t lane = 0; c < channels; ++c, ++lane) {
                lanes[static_cast<std::size_t>(lane)] += values[c];
            }
            sum = ((lanes[0] + lanes[1]) + (lanes[2] + lanes[3])) + ((lanes[4] + lanes[5]) + (lanes[6] + lanes[7]));
            values += channels;
        }
        return sums;
    }

    /// From images to windows along one axis, or back. Axes before it are windows already, those behind it still are
    /// images (and the other way round on the way back).
    [[nodiscard]] std::vector<T> overAxis(const std::vector<T>& in, std::size_t axis, bool isForward) const
    {
        const WindowAxis& along = m_shape.axes[axis];
        const auto [outer, inner] = extentsAround(axis);
        std::vector<T> out(static_cast<std::size_t>(outer * (isForward ? along.windows : along.image) * inner));
        for (std::int64_t o = 0; o < outer; ++o) {
            const std::int64_t windows = o * along.windows;
            const std::int64_t images = o * along.image;
            if (isForward) {
                sumWindows(in.data() + images * inner, along, inner, out.data() + windows * inner);
            } else {
                spreadWindows(in.data() + windows * inner, along, inner, out.data() + images * inner);
            }
        }
        return out;
    }

    /// What lies before an axis, and what behind it, on the way from images to windows, or back.
    [[nodiscard]] std::pair<std::int64_t, std::int64_t> extentsAround(std::size_t axis) const
    {
        std::int64_t outer = m_shape.batch;
        std::int64_t inner = m_shape.groups;
        for (std::size_t i = 0; i < m_shape.axes.size(); ++i) {
            outer *= i < axis ? m_shape.axes[i].windows : 1;
            inner *= i > axis ? m_shape.axes[i].image : 1;
        }
        return {outer, inner};
    }

    /// Adds the rows of an image to those of the windows that hold them.
    static void sumWindows(const T* image, const WindowAxis& along, std::int64_t inner, T* windows)
    {
        for (std::int64_t window = 0; window < along.windows; ++window) {
            const WindowAxis::Taps inside = along.tapsInside(window);
            for (std::int64_t tap = inside.first; tap < inside.end; ++tap) {
                addRow(image + along.position(window, tap) * inner, inner, windows + window * inner);
            }
        }
    }

    /// The way back: adds the rows of windows to those of the image that they hold.
    static void spreadWindows(const T* windows, const WindowAxis& along, std::int64_t inner, T* image)
    {
        for (std::int64_t window = 0; window < along.windows; ++window) {
            const WindowAxis::Taps inside = along.tapsInside(window);
            for (std::int64_t tap = inside.first; tap < inside.end; ++tap) {
                addRow(windows + window * inner, inner, image + along.position(window, tap) * inner);
            }
        }
    }

    static void addRow(const T* from, std::int64_t count, T* to)
    {
        for (std::int64_t i = 0; i < count; ++i) {
            to[i] += from[i];
        }
    }

    static void repeat(const std::vector<T>& values, std::int64_t channels, T* to)
    {
        for (const T value : values) {
            to = std::fill_n(to, channels, value);
        }
    }

    const ConvolutionShape& m_shape;
};

} // namespace retro::ops::reference
