// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/ops/reference/convolutionshape.h"

#include <algorithm>
#include <array>

/// Convolutions whose windows lie almost wholly in the padding: work by what the windows share with the image, without
/// a matrix of columns. All row-major, shapes as in convolution.h.
namespace retro::ops::reference
{

/// True for a convolution that would spend nearly all of its time on padding, or whose strides, dilations or pads are
/// far beyond what a library counts with.
inline bool readsMostlyPadding(const ConvolutionShape& shape)
{
    constexpr std::int64_t kFar = 1 << 20;
    constexpr double kManyReads = 1 << 22;
    constexpr double kMostlyPadding = 8;
    double reads = 1;
    double taps = 1;
    double image = 1;
    for (const WindowAxis& axis : shape.axes) {
        if (std::max({axis.stride, axis.dilation, axis.padBegin, axis.padEnd}) > kFar) {
            return true;
        }
        reads *= static_cast<double>(axis.windows) * static_cast<double>(axis.kernel);
        taps *= static_cast<double>(axis.kernel);
        image *= static_cast<double>(axis.image);
    }
    return reads > kManyReads && taps > kMostlyPadding * image;
}

/// Calls f(window, tap, position in the image of one channel) for every tap that reads the image.
template <class F>
void forEachOverlap(const ConvolutionShape& shape, const F& f)
{
    const auto axes = threeAxes(shape.axes);
    WindowCounter counter(axes, 0);
    for (std::int64_t window = 0; window < shape.windowCount(); ++window, counter.advance()) {
        std::array<WindowAxis::Taps, 3> inside{};
        for (std::size_t i = 0; i < inside.size(); ++i) {
            inside[i] = axes[i].tapsInside(counter.index[i]);
        }
        std::array<std::int64_t, 3> tap{};
        for (tap[0] = inside[0].first; tap[0] < inside[0].end; ++tap[0]) {
            for (tap[1] = inside[1].first; tap[1] < inside[1].end; ++tap[1]) {
                for (tap[2] = inside[2].first; tap[2] < inside[2].end; ++tap[2]) {
                    f(window, (tap[0] * axes[1].kernel + tap[1]) * axes[2].kernel + tap[2], counter.read(tap));
                }
            }
        }
    }
}

/// z = x * w.
template <class T>
void convolveOverlap(const ConvolutionShape& shape, const T* x, const T* w, T* z)
{
    const std::int64_t windows = shape.windowCount();
    const std::int64_t taps = shape.taps();
    std::fill(z, z + shape.batch * shape.groups * shape.filters * windows, T{0});
    for (std::int64_t g = 0; g < shape.batch * shape.groups; ++g) {
        const T* image = x + g * shape.channels * shape.imageSize();
        const T* weights = w + g % shape.groups * shape.filters * shape.channels * taps;
        T* result = z + g * shape.filters * windows;
        forEachOverlap(shape, [&](std::int64_t window, std::int64_t tap, std::int64_t at) {
            for (std::int64_t row = 0; row < shape.filters * shape.channels; ++row) {
                result[row / shape.channels * windows + window] +=
                    weights[row * taps + tap] * image[row % shape.channels * shape.imageSize() + at];
            }
        });
    }
}

/// x = wᵀ * z.
template <class T>
void convolveOverlapTransposed(const ConvolutionShape& shape, const T* z, const T* w, T* x)
{
    const std::int64_t windows = shape.windowCount();
    const std::int64_t taps = shape.taps();
    std::fill(x, x + shape.batch * shape.groups * shape.channels * shape.imageSize(), T{0});
    for (std::int64_t g = 0; g < shape.batch * shape.groups; ++g) {
        T* image = x + g * shape.channels * shape.imageSize();
        const T* weights = w + g % shape.groups * shape.filters * shape.channels * taps;
        const T* result = z + g * shape.filters * windows;
        forEachOverlap(shape, [&](std::int64_t window, std::int64_t tap, std::int64_t at) {
            for (std::int64_t row = 0; row < shape.filters * shape.channels; ++row) {
                image[row % shape.channels * shape.imageSize() + at] +=
                    weights[row * taps + tap] * result[row / shape.channels * windows + window];
            }
        });
    }
}

/// w = Σ over the batch of z times the windows of x, transposed.
template <class T>
void convolveOverlapWeights(const ConvolutionShape& shape, const T* x, const T* z, T* w)
{
    const std::int64_t windows = shape.windowCount();
    const std::int64_t taps = shape.taps();
    std::fill(w, w + shape.groups * shape.filters * shape.channels * taps, T{0});
    for (std::int64_t g = 0; g < shape.batch * shape.groups; ++g) {
        const T* image = x + g * shape.channels * shape.imageSize();
        T* weights = w + g % shape.groups * shape.filters * shape.channels * taps;
        const T* result = z + g * shape.filters * windows;
        forEachOverlap(shape, [&](std::int64_t window, std::int64_t tap, std::int64_t at) {
            for (std::int64_t row = 0; row < shape.filters * shape.channels; ++row) {
                weights[row * taps + tap] += image[row % shape.channels * shape.imageSize() + at] *
                                             result[row / shape.channels * windows + window];
            }
        });
    }
}

} // namespace retro::ops::reference
