// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "views/graph/graphscene.h"
#include "views/graph/graphstripe.h"

#include <QRectF>

#include <cstdint>
#include <optional>
#include <vector>

class QPainter;

namespace retro::views
{

/// How far relevance has come in a group.
struct GroupFill
{
    std::uint32_t nodes = 0;
    std::uint32_t done = 0;  ///< visited last in normal mode or in fulfilment
    std::uint32_t asked = 0; ///< visited last by a search
    bool operator==(const GroupFill&) const = default;
};
/// O(nodes of the group).
[[nodiscard]] GroupFill fillOf(const LikeGroup& group, const NodeStripe& stripe);

/// Where the tiles of like groups lie: as many as fit, around those that the pane shows.
struct GroupTiles
{
    QRectF panel;          ///< names, tiles, and the lens below them
    double left = 0;       ///< of the first tile
    double pitch = 1;      ///< from tile to tile
    std::size_t first = 0; ///< of the groups
    std::size_t count = 0;
    /// Of one of the groups, whether it is among those or not.
    [[nodiscard]] QRectF tile(std::size_t group) const;
    /// The group under a pixel.
    [[nodiscard]] std::optional<std::size_t> groupAt(double x) const;
};
/// In a pane of a width, from a y on; `middle` is the group that the pane shows in its middle.
[[nodiscard]] GroupTiles placeGroups(double width, double top, std::size_t groups, std::size_t middle);
/// The group that holds a node, or the one nearest before it in the order of execution; 0 when there is none.
[[nodiscard]] std::size_t groupAround(const std::vector<LikeGroup>& groups, std::uint32_t node);

/// What is drawn of the tiles beside their groups.
struct GroupStripe
{
    const GraphBook& book;
    const NodeStripe& nodes;
    std::optional<std::size_t> now; ///< the group that is being visited
    std::size_t firstShown = 0;     ///< groups that the pane below shows, both included
    std::size_t lastShown = 0;
};
/// Tiles with name, nodes by mode, and how many are done; lenses from the nodes above and to the pane below.
void paintGroupStripe(QPainter& painter, const GroupStripe& stripe, const GroupTiles& place, const Theme& theme);

} // namespace retro::views
