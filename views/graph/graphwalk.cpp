// SPDX-License-Identifier: Apache-2.0
#include "views/graph/graphwalk.h"

#include <algorithm>
#include <array>
#include <cmath>

namespace retro::views
{

using layout::Index;
using layout::kNone;

namespace
{

constexpr double kSignReach = 12; // from the centre of ▸ or ▾

layout::Rect around(layout::Point center, double reach)
{
    return {center.x - reach, center.y - reach, 2 * reach, 2 * reach};
}

/// Of the boxes at the far ends of some edges the one whose centre is nearest in x, and in y among those.
template <class FarEnd>
Index nearest(const GraphScene& scene, Index box, std::span<const Index> edges, FarEnd farEnd)
{
    const layout::Point from = scene.layout.nodes[static_cast<std::size_t>(box)].center();
    Index best = kNone;
    std::pair<double, double> least;
    for (const Index e : edges) {
        const Index other = farEnd(scene.visible.edges[static_cast<std::size_t>(e)]);
        const layout::Point at = scene.layout.nodes[static_cast<std::size_t>(other)].center();
        const std::pair distance(std::abs(at.x - from.x), std::abs(at.y - from.y));
        if (best == kNone || distance < least) {
            best = other;
            least = distance;
        }
    }
    return best;
}

Index beside(const GraphScene& scene, Index box, Index step)
{
    const Index layer = scene.layout.nodeLayers[static_cast<std::size_t>(box)];
    const auto row = scene.layout.nodesOf(scene.layout.layers[static_cast<std::size_t>(layer)]);
    const auto at = static_cast<Index>(std::find(row.begin(), row.end(), box) - row.begin()) + step;
    return at >= 0 && at < static_cast<Index>(row.size()) ? row[static_cast<std::size_t>(at)] : kNone;
}

Index frameWithTitleAt(const GraphScene& scene, layout::Point point)
{
    Index best = kNone;
    for (Index frame = 0; frame < static_cast<Index>(scene.layout.groups.size()); ++frame) {
        const layout::Rect& rect = scene.layout.groups[static_cast<std::size_t>(frame)];
        const bool isHit = rect.width > 0 && titleOf(scene, frame).contains(point);
        if (isHit && (best == kNone || rect.width < scene.layout.groups[static_cast<std::size_t>(best)].width)) {
            best = frame;
        }
    }
    return best;
}

} // namespace

Hit hitTest(const GraphScene& scene, layout::Point point, double tolerance)
{
    if (const Index box = scene.layout.nodeAt(point); box != kNone) {
        const bool isGroup = scene.visible.nodes[static_cast<std::size_t>(box)].isGroup();
        return {HitKind::Box, box, isGroup && signOf(scene, box).contains(point)};
    }
    if (const Index frame = frameWithTitleAt(scene, point); frame != kNone) {
        const layout::Rect title = titleOf(scene, frame);
        const double inside = scene.style.isSideways ? point.y - title.y : point.x - title.x;
        return {HitKind::Frame, frame, inside <= 2 * kSignReach * scene.book->metrics.scale};
    }
    if (const Index edge = scene.layout.edgeAt(point, tolerance); edge != kNone) {
        return {HitKind::Edge, edge, false};
    }
    return {};
}

layout::Rect titleOf(const GraphScene& scene, Index frame)
{
    layout::Rect title = scene.layout.groups[static_cast<std::size_t>(frame)];
    double& height = scene.style.isSideways ? title.width : title.height;
    height = std::min(height, 22 * scene.book->metrics.scale);
    return title;
}

layout::Rect signOf(const GraphScene& scene, Index box)
{
    const BoxMetrics& metrics = scene.book->metrics;
    const layout::Rect& rect = scene.layout.nodes[static_cast<std::size_t>(box)];
    if (scene.style.hasCards) {
        const double along = metrics.letterRoom - 2 * metrics.scale;
        const double down = kCardTitle / 2 * metrics.scale;
        const layout::Point at = scene.style.isSideways ? layout::Point{rect.x + down, rect.y + along}
                                                        : layout::Point{rect.x + along, rect.y + down};
        return around(at, kSignReach * metrics.scale);
    }
    return around({rect.x + metrics.letterRoom + 4 * metrics.scale, rect.center().y}, kSignReach * metrics.scale);
}

Index neighbour(const GraphScene& scene, Index box, Direction direction)
{
    if (scene.style.isSideways) { // up and down on the screen are left and right in the scene
        constexpr std::array kTurned{Direction::Left, Direction::Right, Direction::Up, Direction::Down};
        direction = kTurned[static_cast<std::size_t>(direction)];
    }
    switch (direction) {
    case Direction::Up:
        return nearest(scene, box, scene.producersOf[box], [](const layout::LayoutEdge& e) { return e.from; });
    case Direction::Down:
        return nearest(scene, box, scene.consumersOf[box], [](const layout::LayoutEdge& e) { return e.to; });
    case Direction::Left:
        return beside(scene, box, -1);
    case Direction::Right:
        return beside(scene, box, 1);
    }
    return kNone;
}

Index firstProducer(const GraphScene& scene, Index box)
{
    const auto edges = scene.producersOf[box];
    return edges.empty() ? kNone : scene.visible.edges[static_cast<std::size_t>(edges.front())].from;
}

Index firstConsumer(const GraphScene& scene, Index box)
{
    const auto edges = scene.consumersOf[box];
    return edges.empty() ? kNone : scene.visible.edges[static_cast<std::size_t>(edges.front())].to;
}

Index frameAround(const GraphScene& scene, Index box)
{
    return scene.visible.nodes[static_cast<std::size_t>(box)].frame;
}

} // namespace retro::views
