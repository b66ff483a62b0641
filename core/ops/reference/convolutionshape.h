// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/ops/reference/window.h"

#include <cstdint>
#include <vector>

namespace retro::ops::reference
{

/// A grouped convolution between an image (batch × groups·channels × spatial) and a result (batch × groups·filters ×
/// windows). Weights are groups·filters × channels × kernel, row-major.
struct ConvolutionShape
{
    std::int64_t batch = 1;
    std::int64_t groups = 1;
    std::int64_t channels = 1; ///< of the image, per group
    std::int64_t filters = 1;  ///< of the result, per group
    std::vector<WindowAxis> axes;
    bool operator==(const ConvolutionShape&) const = default;

    /// Product of one extent over the axes.
    [[nodiscard]] std::int64_t product(std::int64_t WindowAxis::*extent) const
    {
        std::int64_t result = 1;
        for (const WindowAxis& axis : axes) {
            result *= axis.*extent;
        }
        return result;
    }
    [[nodiscard]] std::int64_t imageSize() const { return product(&WindowAxis::image); }
    [[nodiscard]] std::int64_t windowCount() const { return product(&WindowAxis::windows); }
    [[nodiscard]] std::int64_t taps() const { return product(&WindowAxis::kernel); }
};

} // namespace retro::ops::reference
