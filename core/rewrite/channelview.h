// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/rewrite/genericshapes.h"

#include <optional>
#include <vector>

namespace retro::rewrite
{

/// An axis of a value, and by how much the channel grows with its index; 0 = it carries no channel.
struct ChannelAxis
{
    std::int64_t extent = 0; ///< 0 = not known
    std::int64_t stride = 0;
};

/// Which channel each element of a value belongs to: Σ index·stride over its axes.
struct ChannelView
{
    std::int64_t channels = 1;
    std::vector<ChannelAxis> axes; ///< the last axes of the value
    bool isWhole = true;           ///< they are all its axes; else there may be others in front, without channels
};

/// A view of `rank` axes, `axis` of which is the channels.
[[nodiscard]] ChannelView viewOf(std::size_t rank, std::size_t axis, std::int64_t channels);

/// The view with all axes of a value of this shape and their extents; nothing where they contradict each other.
[[nodiscard]] std::optional<ChannelView> completed(const ChannelView& view, const GenericShape& shape);

/// One number per channel: what `constant`, broadcast to the value that the view is of, has at the elements of each.
/// Nothing where it differs between elements of one channel, or where broadcasting would change the value's shape.
[[nodiscard]] std::optional<std::vector<double>> perChannel(const tensor::Tensor& constant, const ChannelView& view);

/// True for a node that moves elements and changes none: Reshape, Flatten, Squeeze, Unsqueeze, Transpose.
[[nodiscard]] bool isRearrangement(const graph::Node& node);

/// The view on the other side of such a node: of its result, when `view` is of its operand (`isForward`), or the other
/// way round. Nothing where a channel is no longer a sum over axes, or where the shapes are not known.
[[nodiscard]] std::optional<ChannelView> across(const graph::Node& node, const ChannelView& view, bool isForward,
                                                GenericShapes& shapes);

} // namespace retro::rewrite
