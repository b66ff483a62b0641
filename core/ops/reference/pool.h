// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/ops/reference/poollanes.h"
#include "core/ops/reference/window.h"
#include "core/ops/threads.h"

#include <algorithm>
#include <limits>
#include <vector>

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

/// One window over one image, and what f of forEachWindow may know of it.
struct PoolWindow
{
    std::int64_t index = 0;         ///< of the window within the image
    std::vector<std::int64_t> taps; ///< positions in the image that it reads, in scan order; padding is left out
    std::int64_t imageAt = 0;       ///< offset of the first channel of the image
    std::int64_t at = 0;            ///< offset of the first channel of the window
    std::int64_t channels = 0;      ///< how many from there on
    bool isRepeat = false;          ///< reads what the window before it read, which this task handled: over pads
    std::vector<double> kept;       ///< what f keeps from window to window of a task
};

/// Finds the taps of windows, one after the other, unless they are those of the window before.
class TapFinder
{
public:
    explicit TapFinder(const PoolShape& shape) : m_shape(shape) {}

    /// Writes the taps of the window with this number into `window`, which holds those of the call before.
    void goTo(std::int64_t index, PoolWindow& window)
    {
        const WindowCounter counter{m_shape.axes, index};
        std::array<std::int64_t, 3> first{};
        std::array<std::int64_t, 3> counts{};
        std::array<WindowAxis::Taps, 3> inside{};
        for (std::size_t i = 0; i < 3; ++i) {
            inside[i] = m_shape.axes[i].tapsInside(counter.index[i]);
            first[i] = m_shape.axes[i].position(counter.index[i], inside[i].first);
            counts[i] = inside[i].end - inside[i].first;
        }
        window.index = index;
        window.isRepeat = m_isAny && first == m_first && counts == m_counts;
        if (window.isRepeat) {
            return;
        }
        m_isAny = true;
        m_first = first;
        m_counts = counts;
        window.taps.clear();
        std::array<std::int64_t, 3> tap{};
        for (tap[0] = inside[0].first; tap[0] < inside[0].end; ++tap[0]) {
            for (tap[1] = inside[1].first; tap[1] < inside[1].end; ++tap[1]) {
                for (tap[2] = inside[2].first; tap[2] < inside[2].end; ++tap[2]) {
                    window.taps.push_back(counter.read(tap));
                }
            }
        }
    }
    /// The next window is that of other channels.
    void forget() { m_isAny = false; }

private:
    const PoolShape& m_shape;
    bool m_isAny = false;
    std::array<std::int64_t, 3> m_first{};  // position of the first tap, per axis
    std::array<std::int64_t, 3> m_counts{}; // taps per axis
};

/// The most channels that one task handles together.
inline constexpr std::int64_t kMostLanes = 128;

/// Channels that a task handles together: many that lie side by side, as long as every thread gets some.
inline std::int64_t lanesOf(const PoolShape& shape)
{
    constexpr std::int64_t kLeast = 32;
    const std::int64_t perThread = shape.batch * shape.channels / std::max(threads(), 1);
    return std::clamp(perThread / kLeast * kLeast, kLeast, kMostLanes);
}

/// Calls f(PoolWindow&) for every window; images and channel ranges run in parallel, the windows of one task in order.
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
                    PoolWindow window;
                    TapFinder finder(shape);
                    for (std::int64_t task = begin; task < end; ++task) {
                        const std::int64_t image = task / ranges;
                        const std::int64_t first = task % ranges * lanes;
                        window.channels = std::min(lanes, shape.channels - first);
                        window.imageAt = image * shape.imageSize() * shape.channels + first;
                        finder.forget();
                        for (std::int64_t index = 0; index < shape.windowCount(); ++index) {
                            finder.goTo(index, window);
                            window.at = (image * shape.windowCount() + index) * shape.channels + first;
                            f(window);
                        }
                    }
                });
}

/// As forEachWindow, for an f that writes to y what follows from the taps alone: a window that repeats the one before
/// takes its result.
template <class T, class F>
void forEachResult(const PoolShape& shape, T* y, const F& f)
{
    forEachWindow(shape, [&](PoolWindow& window) {
        if (window.isRepeat) {
            std::copy_n(y + window.at - shape.channels, window.channels, y + window.at);
        } else {
            f(window);
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
    forEachResult(shape, y, [&](const PoolWindow& window) {
        const auto best = maximumOf(x + window.imageAt, shape.channels, window.taps, window.channels);
        std::copy(best.begin(), best.begin() + window.channels, y + window.at);
    });
}

/// at = position in the image (row-major over its axes) of the first maximum of each window; −1 for a window that sees
/// nothing of the image.
template <class T>
void findMaximum(const PoolShape& shape, const T* x, std::int64_t* at)
{
    forEachResult(shape, at, [&](const PoolWindow& window) {
        const std::int64_t count = window.channels;
        const auto best = maximumOf(x + window.imageAt, shape.channels, window.taps, count);
        std::fill(at + window.at, at + window.at + count, std::int64_t{-1});
        for (const std::int64_t tap : window.taps) {
            const T* in = x + window.imageAt + tap * shape.channels;
            for (std::int64_t c = 0; c < count; ++c) {
                const T largest = best[static_cast<std::size_t>(c)];
                const bool wins = (in[c] == largest) | ((in[c] != in[c]) & (largest != largest));
                std::int64_t& found = at[window.at + c];
                found = wins && found < 0 ? tap : found;
            }
        }
    });
}

/// Position in the image of the first maximum of a window (its first NaN when there is one) per channel, into
/// window.kept; −1 where it sees nothing of the image.
template <class T>
void keepMaxima(const T* image, std::int64_t channels, PoolWindow& window)
{
    const std::int64_t count = window.channels;
    const auto best = maximumOf(image, channels, window.taps, count);
    window.kept.assign(static_cast<std::size_t>(count), -1.0);
    for (const std::int64_t tap : window.taps) {
        const T* in = image + tap * channels;
        for (std::int64_t c = 0; c < count; ++c) {
            const T largest = best[static_cast<std::size_t>(c)];
            double& found = window.kept[static_cast<std::size_t>(c)];
            if (found < 0 && (in[c] == largest || (in[c] != in[c] && largest != largest))) {
                found = static_cast<double>(tap);
            }
        }
    }
}

/// r = s routed to the first maximum of each window of x (its first NaN when there is one).
template <class T>
void routeToMaximum(const PoolShape& shape, const T* s, const T* x, T* r)
{
    std::fill(r, r + shape.batch * shape.imageSize() * shape.channels, T{0});
    forEachWindow(shape, [&](PoolWindow& window) {
        if (window.isRepeat) {
            if (window.kept.empty()) {
                keepMaxima(x + window.imageAt, shape.channels, window);
            }
            for (std::int64_t c = 0; c < window.channels; ++c) {
                const auto tap = static_cast<std::int64_t>(window.kept[static_cast<std::size_t>(c)]);
                if (tap >= 0) {
                    r[window.imageAt + tap * shape.channels + c] += s[window.at + c];
                }
            }
            return;
        }
        window.kept.clear();
        const auto best = maximumOf(x + window.imageAt, shape.channels, window.taps, window.channels);
        std::array<T, kMostLanes> left; // what no element has taken yet
        std::copy(s + window.at, s + window.at + window.channels, left.begin());
        for (const std::int64_t tap : window.taps) {
            const std::int64_t at = window.imageAt + tap * shape.channels;
            takeShare(x + at, best.data(), left.data(), r + at, window.channels);
        }
    });
}

/// y = what t has at the first maximum of each window of x: the transpose of routeToMaximum. 0 for a window of padding.
template <class T>
void pickMaximum(const PoolShape& shape, const T* t, const T* x, T* y)
{
    forEachResult(shape, y, [&](const PoolWindow& window) {
        const auto best = maximumOf(x + window.imageAt, shape.channels, window.taps, window.channels);
        std::array<T, kMostLanes> left; // 1 until the first maximum has been met
        left.fill(T{1});
        std::fill(y + window.at, y + window.at + window.channels, T{0});
        for (const std::int64_t tap : window.taps) {
            const std::int64_t at = window.imageAt + tap * shape.channels;
            std::array<T, kMostLanes> taken{};
            takeShare(x + at, best.data(), left.data(), taken.data(), window.channels);
            for (std::int64_t c = 0; c < window.channels; ++c) {
                y[window.at + c] += taken[static_cast<std::size_t>(c)] * t[at + c];
            }
        }
    });
}

/// y = sum of each window times factor[window].
template <class T>
void sumPool(const PoolShape& shape, const T* x, const T* factors, T* y)
{
    forEachWindow(shape, [&](const PoolWindow& window) {
        const auto index = static_cast<std::size_t>(window.index);
        if (window.isRepeat && factors[index] == factors[index - 1]) {
            std::copy_n(y + window.at - shape.channels, window.channels, y + window.at);
            return;
        }
        std::array<T, kMostLanes> sum{};
        for (const std::int64_t tap : window.taps) {
            const T* in = x + window.imageAt + tap * shape.channels;
            for (std::int64_t c = 0; c < window.channels; ++c) {
                sum[static_cast<std::size_t>(c)] += in[c];
            }
        }
        for (std::int64_t c = 0; c < window.channels; ++c) {
            y[window.at + c] = sum[static_cast<std::size_t>(c)] * factors[index];
        }
    });
}

/// r = transposed map of sumPool applied to s.
template <class T>
void spreadOverWindows(const PoolShape& shape, const T* s, const T* factors, T* r)
{
    std::fill(r, r + shape.batch * shape.imageSize() * shape.channels, T{0});
    forEachWindow(shape, [&](const PoolWindow& window) {
        const T factor = factors[static_cast<std::size_t>(window.index)];
        for (const std::int64_t tap : window.taps) {
            T* out = r + window.imageAt + tap * shape.channels;
            for (std::int64_t c = 0; c < window.channels; ++c) {
                out[c] += s[window.at + c] * factor;
            }
        }
    });
}

} // namespace retro::ops::reference
