// SPDX-License-Identifier: Apache-2.0
#pragma once

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

    /// Positions that one window spans.
    [[nodiscard]] std::int64_t span() const { return (kernel - 1) * dilation + 1; }
    /// Where tap `k` of window `o` reads; may lie in the padding.
    [[nodiscard]] std::int64_t position(std::int64_t o, std::int64_t k) const
    {
        return o * stride - padBegin + k * dilation;
    }
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

} // namespace retro::ops::reference
