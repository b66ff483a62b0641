// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/layout/minimap.h"
#include "views/graph/graphcamera.h"
#include "views/graph/graphpainter.h"

namespace retro::views
{

/// Rows of the legend while boxes have the colours of their modes.
inline constexpr int kModeRows = 9;

/// Where map and legend lie over the graph. Made from the widget's size and the font alone; plain value.
struct GraphOverlays
{
    QRectF map;    ///< the whole panel; null = not shown
    QRectF ground; ///< the part of it that the picture may use
    QRectF legend; ///< null = not shown
    QRectF free;   ///< what is left for the graph: left of the panels

    /// Panels that do not fit beside a usable piece of graph are left out: first the legend, then the map.
    [[nodiscard]] static GraphOverlays place(const QSizeF& size, double scale, bool wantsMap, bool wantsLegend,
                                             int legendRows = kModeRows);
    [[nodiscard]] bool covers(const QPointF& pixel) const { return map.contains(pixel) || legend.contains(pixel); }
};

/// The ground and border of what lies in a corner of the graph.
void paintCornerPanel(QPainter& painter, const QRectF& panel, const Theme& theme, Role ground);

/// The geometry of the small picture in the map.
[[nodiscard]] layout::Minimap minimapOf(const GraphScene& scene, const GraphOverlays& overlays);

/// The map: every box in the colour of its mode, the visible part framed. `visible` in scene units.
void paintMap(QPainter& painter, const GraphPicture& picture, const GraphOverlays& overlays,
              const layout::Rect& visible, const Theme& theme);

/// Rows that the legend of a colouring (null = by mode) has.
[[nodiscard]] int legendRowsOf(const Colouring* colouring);
/// The legend: every mark, or every class of a colouring, beside its meaning.
void paintLegend(QPainter& painter, const QRectF& panel, const Colouring* colouring, const Theme& theme);

} // namespace retro::views
