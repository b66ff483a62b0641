// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/ops/reference/convolutionshape.h"
#include "core/ops/reference/matrix.h"
#include "core/ops/reference/overlap.h"

namespace retro::ops::reference
{

namespace detail
{

/// Windows are handled in blocks of this many, so that the column matrix stays in the cache; in smaller ones where it
/// would have more than kMostColumns elements.
inline constexpr std::int64_t kWindowBlock = 1024;
inline constexpr std::int64_t kMostColumns = 1 << 26;

inline std::int64_t windowBlock(const ConvolutionShape& shape)
{
    const std::int64_t depth = std::max<std::int64_t>(shape.channels * shape.taps(), 1);
    return std::clamp<std::int64_t>(std::min(kMostColumns / depth, shape.windowCount()), 1, kWindowBlock);
}

/// Calls f(row of the column matrix, index in the block, position in the image of one group) for every tap that reads
/// the image and not the padding: channel by channel, tap by tap, window by window.
template <class F>
void forEachTap(const ConvolutionShape& shape, std::int64_t first, std::int64_t count, const F& f)
{
    const auto axes = threeAxes(shape.axes);
    const std::int64_t taps = shape.taps();
    for (std::int64_t row = 0; row < shape.channels * taps; ++row) {
        const std::int64_t tap = row % taps;
        const std::array<std::int64_t, 3> index{tap / axes[2].kernel / axes[1].kernel,
                                                tap / axes[2].kernel % axes[1].kernel, tap % axes[2].kernel};
        const std::int64_t channelAt = row / taps * shape.imageSize();
        WindowCounter window(axes, first);
        for (std::int64_t i = 0; i < count; ++i, window.advance()) {
            if (const std::int64_t at = window.read(index); at >= 0) {
                f(row, i, channelAt + at);
            }
        }
    }
}

/// Calls f(group of the batch and groups together, first window, windows in the block).
template <class F>
void forEachBlock(const ConvolutionShape& shape, const F& f)
{
    const std::int64_t windows = shape.windowCount();
    const std::int64_t block = windowBlock(shape);
    for (std::int64_t g = 0; g < shape.batch * shape.groups; ++g) {
        for (std::int64_t first = 0; first < windows; first += block) {
            f(g, first, std::min(block, windows - first));
        }
    }
}

} // namespace detail

/// z = x * w: the weights of each group times the matrix of its windows. All row-major.
template <class T>
void convolve(const ConvolutionShape& shape, const T* x, const T* w, T* z)
{
    if (readsMostlyPadding(shape)) {
        return convolveOverlap(shape, x, w, z);
    }
    const std::int64_t depth = shape.channels * shape.taps();
    const std::int64_t windows = shape.windowCount();
    std::vector<T> columns;
    columns.resize(static_cast<std::size_t>(depth * detail::windowBlock(shape)));
    detail::forEachBlock(shape, [&](std::int64_t g, std::int64_t first, std::int64_t count) {
        std::fill(columns.begin(), columns.end(), T{0});
        const T* image = x + g * shape.channels * shape.imageSize();
        detail::forEachTap(shape, first, count, [&](std::int64_t row, std::int64_t i, std::int64_t at) {
            columns[static_cast<std::size_t>(row * count + i)] = image[at];
        });
        const T* weights = w + g % shape.groups * shape.filters * depth;
        multiply(MatrixView<T>{weights, shape.filters, depth, depth, 1},
                 MatrixView<T>{columns.data(), depth, count, count, 1}, z + g * shape.filters * windows + first,
                 windows);
    });
}

/// x = wᵀ * z: the transposed map. Contributions are added window block by window block, tap by tap.
template <class T>
void convolveTransposed(const ConvolutionShape& shape, const T* z, const T* w, T* x)
{
    if (readsMostlyPadding(shape)) {
        return convolveOverlapTransposed(shape, z, w, x);
    }
    const std::int64_t depth = shape.channels * shape.taps();
    const std::int64_t windows = shape.windowCount();
    const std::int64_t imageSize = shape.channels * shape.imageSize();
    std::fill(x, x + shape.batch * shape.groups * imageSize, T{0});
    std::vector<T> columns;
    columns.resize(static_cast<std::size_t>(depth * detail::windowBlock(shape)));
    detail::forEachBlock(shape, [&](std::int64_t g, std::int64_t first, std::int64_t count) {
        const T* weights = w + g % shape.groups * shape.filters * depth;
        multiply(MatrixView<T>{weights, depth, shape.filters, 1, depth},
                 MatrixView<T>{z + g * shape.filters * windows + first, shape.filters, count, windows, 1},
                 columns.data(), count);
        T* image = x + g * imageSize;
        detail::forEachTap(shape, first, count, [&](std::int64_t row, std::int64_t i, std::int64_t at) {
            image[at] += columns[static_cast<std::size_t>(row * count + i)];
        });
    });
}

/// w = Σ over the batch of z times the windows of x, transposed: the gradient with respect to the weights, where z is
/// that of the result.
template <class T>
void convolveWeights(const ConvolutionShape& shape, const T* x, const T* z, T* w)
{
    if (readsMostlyPadding(shape)) {
        return convolveOverlapWeights(shape, x, z, w);
    }
    const std::int64_t depth = shape.channels * shape.taps();
    const std::int64_t windows = shape.windowCount();
    std::vector<T> columns;
    columns.resize(static_cast<std::size_t>(depth * detail::windowBlock(shape)));
    std::vector<T> product(static_cast<std::size_t>(shape.filters * depth));
    std::fill(w, w + shape.groups * shape.filters * depth, T{0});
    detail::forEachBlock(shape, [&](std::int64_t g, std::int64_t first, std::int64_t count) {
        std::fill(columns.begin(), columns.end(), T{0});
        const T* image = x + g * shape.channels * shape.imageSize();
        detail::forEachTap(shape, first, count, [&](std::int64_t row, std::int64_t i, std::int64_t at) {
            columns[static_cast<std::size_t>(row * count + i)] = image[at];
        });
        multiply(MatrixView<T>{z + g * shape.filters * windows + first, shape.filters, count, windows, 1},
                 MatrixView<T>{columns.data(), count, depth, 1, count}, product.data(), depth);
        T* weights = w + g % shape.groups * shape.filters * depth;
        for (std::size_t i = 0; i < product.size(); ++i) {
            weights[i] += product[i];
        }
    });
}

} // namespace retro::ops::reference
