// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <vector>

namespace retro::ops::reference
{

/// One spatial axis of a sliding window. Tap k of window o reads position o·stride − padBegin + k·dilation; positions
/// outside [0, image) are padding.
struct WindowAxis
{
    std::int64_t image = 1;   ///< extent of what is read
    std::int64_t windows = 1; ///< number of windows
    std::int64_t kernel = 1;
    std::int64_t stride = 1;
    std::int64_t dilation = 1;
    std::int64_t padBegin = 0;
    std::int64_t padEnd = 0;
    bool operator==(const WindowAxis&) const = default;

    /// Positions that one window spans.
    [[nodiscard]] std::int64_t span() const { return (kernel - 1) * dilation + 1; }
    /// Where tap `k` of window `o` reads; may lie in the padding.
    [[nodiscard]] std::int64_t position(std::int64_t o, std::int64_t k) const
    {
        return o * stride - padBegin + k * dilation;
    }
    /// Taps from `first` on, before `end`.
    struct Taps
    {
        std::int64_t first;
        std::int64_t end;
    };
    /// Taps of window `o` that read positions from 0 to before `limit`; none: first = end.
    [[nodiscard]] Taps tapsBefore(std::int64_t o, std::int64_t limit) const
    {
        const std::int64_t start = position(o, 0);
        const auto steps = [this](std::int64_t way) { return way <= 0 ? 0 : (way + dilation - 1) / dilation; };
        const std::int64_t end = std::min(kernel, steps(limit - start));
        return {std::min(steps(-start), end), end};
    }
    /// Taps of window `o` that read the image and not the padding.
    [[nodiscard]] Taps tapsInside(std::int64_t o) const { return tapsBefore(o, image); }
    /// True when the position lies in the image.
    [[nodiscard]] bool contains(std::int64_t at) const { return at >= 0 && at < image; }
};

/// One to three axes as exactly three, with axes of extent 1 in front.
inline std::array<WindowAxis, 3> threeAxes(const std::vector<WindowAxis>& axes)
{
    std::array<WindowAxis, 3> three{};
    for (std::size_t i = 0; i < axes.size(); ++i) {
        three[3 - axes.size() + i] = axes[i];
    }
    return three;
}

/// The windows over an image one after the other, as three indices.
struct WindowCounter
{
    const std::array<WindowAxis, 3>& axes;
    std::array<std::int64_t, 3> index;

    WindowCounter(const std::array<WindowAxis, 3>& from, std::int64_t window)
        : axes(from), index{window / from[2].windows / from[1].windows, window / from[2].windows % from[1].windows,
                            window % from[2].windows}
    {}

    /// Position in the image that the tap (k0, k1, k2) reads; −1 for padding.
    [[nodiscard]] std::int64_t read(const std::array<std::int64_t, 3>& tap) const
    {
        std::int64_t at = 0;
        for (std::size_t i = 0; i < 3; ++i) {
            const std::int64_t position = axes[i].position(index[i], tap[i]);
            if (!axes[i].contains(position)) {
                return -1;
            }
            at = at * axes[i].image + position;
        }
        return at;
    }
    /// Goes to the next window.
    void advance()
    {
        for (std::size_t i = 3; i-- > 0;) {
            if (++index[i] < axes[i].windows) {
                return;
            }
            index[i] = 0;
        }
    }
};

} // namespace retro::ops::reference
