// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/graph/graph.h"

#include <cstdint>

namespace retro::engine
{

/// Where the channels of an input lie; its other axes, but for the first one, are time or space.
enum class ChannelAxis : std::uint8_t {
    Unknown,
    First, ///< axis 1: N × C × …
    Last,  ///< N × … × C
    None   ///< every element stands for itself
};

/// What the axes of an input mean.
struct InputAxes
{
    ChannelAxis channels = ChannelAxis::Unknown;
    std::size_t samples = 0; ///< the axis that samples lie along: 1 of a series T × N × C
};

/// What a graph says about the axes of an input of this rank. Its channels: by the first operators that give its axes a
/// meaning: convolutions, pooling and normalisations by channel have channels at axis 1, recurrent layers, layer
/// normalisations and products with a weight at the last one. Transpose, Squeeze and Unsqueeze on the way are taken
/// into account. Unknown when the way ends before (Reshape, Flatten), or two readers say otherwise. Its samples: the
/// first axis, unless every recurrent layer that it gets to (also behind products with a weight and layer
/// normalisations) reads another one as them.
[[nodiscard]] InputAxes inputAxesOf(const graph::Graph& graph, base::ValueId input, std::size_t rank);

} // namespace retro::engine
