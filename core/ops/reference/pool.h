// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/ops/reference/poollanes.h"
#include "core/ops/reference/window.h"
#include "core/ops/threads.h"

#include <algorithm>
#include <limits>

namespace retro::ops::reference
{

/// Windows over batch × channels × spatial, everything dense in channels-last order.
struct PoolShape
{
    std::int64_t batch = 1;
    std::int64_t channels = 1;
    std::array<WindowAxis, 3> axes;

    [[nodiscard]] std::int64_t imageSize() const { return axes[0].image * axes[1].image * axes[2].image; }
    [[nodiscard]] std::int64_t windowCount() const { return axes[0].windows * axes[1].windows * axes[2].windows; }
};

/// Positions in the image that a window reads, in scan order; padding is left out.
inline void tapsOf(const PoolShape& shape, std::int64_t window, std::vector<std::int64_t>& taps)
{
    const WindowCounter counter{shape.axes, window};
    std::array<WindowAxis::Taps, 3> inside{};
    for (std::size_t i = 0; i < inside.size(); ++i) {
        inside[i] = shape.axes[i].tapsInside(counter.index[i]);
    }
    std::array<std::int64_t, 3> tap{};
    taps.clear();
    for (tap[0] = inside[0].first; tap[0] < inside[0].end; ++tap[0]) {
        for (tap[1] = inside[1].first; tap[1] < inside[1].end; ++tap[1]) {
            for (tap[2] = inside[2].first; tap[2] < inside[2].end; ++tap[2]) {
                taps.push_back(counter.read(tap));
            }
        }
    }
}

/// The most channels that one task handles together.
inline constexpr std::int64_t kMostLanes = 128;

/// Channels that a task handles together: many that lie side by side, as long as every thread gets some.
inline std::int64_t lanesOf(const PoolShape& shape)
{
    constexpr std::int64_t kLeast = 32;
    const std::int64_t perThread = shape.batch * shape.channels / std::max(threads(), 1);
    return std::clamp(perThread / kLeast * kLeast, kLeast, kMostLanes);
}

/// Calls f(window, taps, offset of the image's first channel, offset of the window's first channel, channels) for every
/// window; images and channel ranges run in parallel, the windows of one task in order.
template <class F>
void forEachWindow(const PoolShape& shape, const F& f)
{
    const std::int64_t lanes = lanesOf(shape);
    const std::int64_t ranges = (shape.channels + lanes - 1) / lanes;
    std::int64_t work = shape.windowCount() * lanes;
    for (const WindowAxis& axis : shape.axes) {
        work *= std::min(axis.kernel, axis.image);
    }
    parallelFor(shape.batch * ranges, std::max<std::int64_t>(131072 / std::max<std::int64_t>(work, 1), 1),
                [&](std::int64_t begin, std::int64_t end) {
                    std::vector<std::int64_t> taps;
                    for (std::int64_t task = begin; task < end; ++task) {
                        const std::int64_t image = task / ranges;
                        const std::int64_t first = task % ranges * lanes;
                        const std::int64_t count = std::min(lanes, shape.channels - first);
                        const std::int64_t imageAt = image * shape.imageSize() * shape.channels + first;
                        for (std::int64_t window = 0; window < shape.windowCount(); ++window) {
                            tapsOf(shape, window, taps);
                            f(window, taps, imageAt, (image * shape.windowCount() + window) * shape.channels + first,
                              count);
                        }
                    }
                });
}

/// Largest element of one window per channel; NaN when there is one.
template <class T>
std::array<T, kMostLanes> maximumOf(const T* image, std::int64_t channels, const std::vector<std::int64_t>& taps,
                                    std::int64_t count)
{
    std::array<T, kMostLanes> best;
    std::fill_n(best.begin(), count,
                std::numeric_limits<T>::has_infinity ? -std::numeric_limits<T>::infinity()
                                                     : std::numeric_limits<T>::lowest());
    for (const std::int64_t tap : taps) {
        takeLarger(best.data(), image + tap * channels, count);
    }
    return best;
}

/// y = largest element of each window.
template <class T>
void maxPool(const PoolShape& shape, const T* x, T* y)
{
    forEachWindow(shape, [&](std::int64_t, const std::vector<std::int64_t>& taps, std::int64_t imageAt,
                             std::int64_t windowAt, std::int64_t count) {
        const auto best = maximumOf(x + imageAt, shape.channels, taps, count);
        std::copy(best.begin(), best.begin() + count, y + windowAt);
    });
}

/// at = position in the image (row-major over its axes) of the first maximum of each window; −1 for a window that sees
/// nothing of the image.
template <class T>
void findMaximum(const PoolShape& shape, const T* x, std::int64_t* at)
{
    forEachWindow(shape, [&](std::int64_t, const std::vector<std::int64_t>& taps, std::int64_t imageAt,
                             std::int64_t windowAt, std::int64_t count) {
        const auto best = maximumOf(x + imageAt, shape.channels, taps, count);
        std::fill(at + windowAt, at + windowAt + count, std::int64_t{-1});
        for (const std::int64_t tap : taps) {
            const T* in = x + imageAt + tap * shape.channels;
            for (std::int64_t c = 0; c < count; ++c) {
                const T largest = best[static_cast<std::size_t>(c)];
                const bool wins = (in[c] == largest) | ((in[c] != in[c]) & (largest != largest));
                std::int64_t& found = at[windowAt + c];
                found = wins && found < 0 ? tap : found;
            }
        }
    });
}

/// r = s routed to the first maximum of each window of x (its first NaN when there is one).
template <class T>
void routeToMaximum(const PoolShape& shape, const T* s, const T* x, T* r)
{
    std::fill(r, r + shape.batch * shape.imageSize() * shape.channels, T{0});
    forEachWindow(shape, [&](std::int64_t, const std::vector<std::int64_t>& taps, std::int64_t imageAt,
                             std::int64_t windowAt, std::int64_t count) {
        const auto best = maximumOf(x + imageAt, shape.channels, taps, count);
        std::array<T, kMostLanes> left; // what no element has taken yet
        std::copy(s + windowAt, s + windowAt + count, left.begin());
        for (const std::int64_t tap : taps) {
            const std::int64_t at = imageAt + tap * shape.channels;
            takeShare(x + at, best.data(), left.data(), r + at, count);
        }
    });
}

/// y = what t has at the first maximum of each window of x: the transpose of routeToMaximum. 0 for a window of padding.
template <class T>
void pickMaximum(const PoolShape& shape, const T* t, const T* x, T* y)
{
    forEachWindow(shape, [&](std::int64_t, const std::vector<std::int64_t>& taps, std::int64_t imageAt,
                             std::int64_t windowAt, std::int64_t count) {
        const auto best = maximumOf(x + imageAt, shape.channels, taps, count);
        std::array<T, kMostLanes> left; // 1 until the first maximum has been met
        left.fill(T{1});
        std::fill(y + windowAt, y + windowAt + count, T{0});
        for (const std::int64_t tap : taps) {
            const std::int64_t at = imageAt + tap * shape.channels;
            std::array<T, kMostLanes> taken{};
            takeShare(x + at, best.data(), left.data(), taken.data(), count);
            for (std::int64_t c = 0; c < count; ++c) {
                y[windowAt + c] += taken[static_cast<std::size_t>(c)] * t[at + c];
            }
        }
    });
}

/// y = sum of each window times factor[window].
template <class T>
void sumPool(const PoolShape& shape, const T* x, const std::vector<T>& factors, T* y)
{
    forEachWindow(shape, [&](std::int64_t window, const std::vector<std::int64_t>& taps, std::int64_t imageAt,
                             std::int64_t windowAt, std::int64_t count) {
        std::array<T, kMostLanes> sum{};
        for (const std::int64_t tap : taps) {
            const T* in = x + imageAt + tap * shape.channels;
            for (std::int64_t c = 0; c < count; ++c) {
                sum[static_cast<std::size_t>(c)] += in[c];
            }
        }
        for (std::int64_t c = 0; c < count; ++c) {
            y[windowAt + c] = sum[static_cast<std::size_t>(c)] * factors[static_cast<std::size_t>(window)];
        }
    });
}

/// r = transposed map of sumPool applied to s.
template <class T>
void spreadOverWindows(const PoolShape& shape, const T* s, const std::vector<T>& factors, T* r)
{
    std::fill(r, r + shape.batch * shape.imageSize() * shape.channels, T{0});
    forEachWindow(shape, [&](std::int64_t window, const std::vector<std::int64_t>& taps, std::int64_t imageAt,
                             std::int64_t windowAt, std::int64_t count) {
        for (const std::int64_t tap : taps) {
            T* out = r + imageAt + tap * shape.channels;
            for (std::int64_t c = 0; c < count; ++c) {
                out[c] += s[windowAt + c] * factors[static_cast<std::size_t>(window)];
            }
        }
    });
}

} // namespace retro::ops::reference
