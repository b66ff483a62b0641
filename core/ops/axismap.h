// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/graph/graph.h"

#include <functional>
#include <optional>
#include <vector>

namespace retro::ops
{

/// The axis of an operand that an axis of a result is.
struct AxisSource
{
    std::size_t axis = 0;
    bool isWhole = true; ///< index by index; else some of it, or more than it: Slice, Concat along it
};
/// By axis of a result; nothing for one that is added, or is made of several.
using AxisMap = std::vector<std::optional<AxisSource>>;

/// A node whose axes are asked for. Shapes may be unknown, and are null then.
struct AxesAsked
{
    const graph::Node& node;
    std::size_t rank = 0; ///< of operand 0
    const tensor::Shape* from = nullptr;
    const tensor::Shape* to = nullptr; ///< of result 0
    /// Whole numbers of an operand; nothing where it is left out or computed.
    std::function<std::optional<std::vector<std::int64_t>>(std::size_t slot)> numbers = {};
};

/// The axes of operand 0 in result 0, or for Concat those of each operand. Nothing where the operator does more than to
/// move elements or to compute each from those in its place (elements.h), or where shapes or numbers would be needed.
[[nodiscard]] std::optional<AxisMap> axesOf(const AxesAsked& asked);
/// The axis of the result that an axis of operand 0 becomes; nothing where there is none.
[[nodiscard]] std::optional<std::size_t> axisBehind(const AxesAsked& asked, std::size_t axis);

} // namespace retro::ops
