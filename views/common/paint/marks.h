// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/event/event.h"
#include "views/common/paint/theme.h"

#include <QRectF>
#include <QString>

class QPainter;

namespace retro::views
{

/// The letter of a mode: N, T or F; empty for None.
[[nodiscard]] QString letterOf(event::Mode mode);
/// The mode in words: "normal", "search", "fulfilment", "not visited".
[[nodiscard]] QString wordOf(event::Mode mode);

/// Box with the tint, border and pattern of a mode: solid N, dashed T, double F, ghost outline when not visited.
/// `radius` in pixels.
void paintModeBox(QPainter& painter, const QRectF& box, event::Mode mode, const Theme& theme, double radius = 3);
/// A 16-px square with the letter of the mode inside its border, as in captions and tables.
void paintModeMark(QPainter& painter, const QRectF& box, event::Mode mode, const Theme& theme);

/// Diamond of half-diagonal `radius`: ◇ waits (outline), ◆ fulfilled (filled).
void paintDiamond(QPainter& painter, const QPointF& center, double radius, const QColor& color, bool isFilled);
/// ✓ inside a square of half-width `radius`.
void paintTick(QPainter& painter, const QPointF& center, double radius, const QColor& color);
/// ✕ inside a square of half-width `radius`.
void paintCross(QPainter& painter, const QPointF& center, double radius, const QColor& color);
/// ▲ of half-width `radius`.
void paintTriangle(QPainter& painter, const QPointF& center, double radius, const QColor& color);
/// 45° lines `pitch` pixels apart, clipped to the box.
void paintHatch(QPainter& painter, const QRectF& box, const QColor& color, double pitch = 4, double width = 1);
/// A hairline of one device pixel through pixel centres.
void paintHairline(QPainter& painter, const QPointF& from, const QPointF& to, const QColor& color);
/// A horizontal bar in a frame: a share of 0…1 fills it from the left, one of −1…0 hatches it from the right.
void paintShareBar(QPainter& painter, const QRectF& box, double share, const QColor& fill, const Theme& theme);

} // namespace retro::views
