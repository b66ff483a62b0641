// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "views/graph/graphscene.h"

namespace retro::views
{

/// What lies under a point.
enum class HitKind { Nothing, Box, Frame, Edge };

struct Hit
{
    HitKind kind = HitKind::Nothing;
    layout::Index index = layout::kNone; ///< box, frame or edge of the scene
    bool isOnSign = false;               ///< on the ▸ of a closed group or the ▾ of a frame
    bool operator==(const Hit&) const = default;
};

/// Box, else title of a frame, else edge at most `tolerance` away (scene units).
[[nodiscard]] Hit hitTest(const GraphScene& scene, layout::Point point, double tolerance);

/// The strip at the top of a frame that holds its title.
[[nodiscard]] layout::Rect titleOf(const GraphScene& scene, layout::Index frame);
/// Where the ▸ of a closed group's box stands.
[[nodiscard]] layout::Rect signOf(const GraphScene& scene, layout::Index box);

/// Height of the row of a card that holds its name, design pixels.
inline constexpr double kCardTitle = 22;

enum class Direction { Up, Down, Left, Right };

/// The box that an arrow key leads to: along the drawing the nearest producer and consumer (up and down, or left and
/// right in one that is shown sideways), across it the next box of the layer. kNone at the border.
[[nodiscard]] layout::Index neighbour(const GraphScene& scene, layout::Index box, Direction direction);
/// The producer of the first operand, or the first consumer. kNone when there is none.
[[nodiscard]] layout::Index firstProducer(const GraphScene& scene, layout::Index box);
[[nodiscard]] layout::Index firstConsumer(const GraphScene& scene, layout::Index box);

/// The frame to be closed for a box: the innermost around it. kNone when it stands in none.
[[nodiscard]] layout::Index frameAround(const GraphScene& scene, layout::Index box);

} // namespace retro::views
