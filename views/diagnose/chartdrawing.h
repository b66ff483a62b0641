// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/diagnosis/chart.h"
#include "views/common/paint/theme.h"

#include <QImage>
#include <QRectF>
#include <QString>

class QPainter;

namespace retro::views
{

/// Height that a chart takes, its title left out, in pixels; 0 of none.
[[nodiscard]] double heightOfChart(const diagnosis::Chart& chart);

/// Draws a chart into a place of that height. What is marked is in the colour of alarms; limits are dashed.
void paintChart(QPainter& painter, const QRectF& place, const diagnosis::Chart& chart, const Theme& colors);

/// A picture of a chart without its title, for pages: 520 pixels wide, of twice as many dots. Null of none.
[[nodiscard]] QImage imageOfChart(const diagnosis::Chart& chart, const Theme& colors);

/// What a screen reader says of a chart: "‖weights‖ of each output channel; 2: 9110".
[[nodiscard]] QString spokenChart(const diagnosis::Chart& chart);

/// What stands at a point of a place where the chart is painted: "2: 9110"; empty where there is nothing.
[[nodiscard]] QString textAt(const QRectF& place, const diagnosis::Chart& chart, const QPointF& point);

} // namespace retro::views
