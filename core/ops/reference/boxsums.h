// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/ops/reference/convolution.h"

#include <array>
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
        std::int64_t outer = m_shape.batch;
        std::int64_t inner = m_shape.groups;
        for (std::size_t i = 0; i < m_shape.axes.size(); ++i) {
            outer *= i < axis ? m_shape.axes[i].windows : 1;
            inner *= i > axis ? m_shape.axes[i].image : 1;
        }
        std::vector<T> out(static_cast<std::size_t>(outer * (isForward ? along.windows : along.image) * inner));
        for (std::int64_t o = 0; o < outer; ++o) {
            for (std::int64_t window = 0; window < along.windows; ++window) {
                const WindowAxis::Taps inside = along.tapsInside(window);
                for (std::int64_t tap = inside.first; tap < inside.end; ++tap) {
                    const std::int64_t atWindow = (o * along.windows + window) * inner;
                    const std::int64_t atImage = (o * along.image + along.position(window, tap)) * inner;
                    addRow(in.data() + (isForward ? atImage : atWindow), inner,
                           out.data() + (isForward ? atWindow : atImage));
                }
            }
        }
        return out;
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
