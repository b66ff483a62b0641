// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/formats/known/functionwriter.h"

#include <numeric>

namespace retro::formats
{

/// Order of the axes that makes batch × channels × positions of batch × positions × channels.
[[nodiscard]] inline std::vector<std::int64_t> channelsFirst(std::size_t rank)
{
    std::vector<std::int64_t> order{0, static_cast<std::int64_t>(rank) - 1};
    for (std::size_t axis = 1; axis + 1 < rank; ++axis) {
        order.push_back(static_cast<std::int64_t>(axis));
    }
    return order;
}

/// The way back.
[[nodiscard]] inline std::vector<std::int64_t> channelsLast(std::size_t rank)
{
    std::vector<std::int64_t> order{0};
    for (std::size_t axis = 2; axis < rank; ++axis) {
        order.push_back(static_cast<std::int64_t>(axis));
    }
    order.push_back(1);
    return order;
}

/// Axes of operand 0 of a layer of windows, by its kernel_shape or by what is known of its operands.
[[nodiscard]] inline std::optional<std::size_t> channelsLastRank(const FunctionWriter& body)
{
    if (const auto kernel = body.integers("kernel_shape"); !kernel.empty()) {
        return kernel.size() + 2;
    }
    const auto rank = body.rank(0) ? body.rank(0) : body.rank(1);
    return rank && *rank >= 3 ? rank : std::nullopt;
}

} // namespace retro::formats
