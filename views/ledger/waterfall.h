// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "views/common/paint/theme.h"
#include "views/ledger/ledgerfigures.h"

#include <QRectF>

#include <vector>

class QPainter;

namespace retro::views
{

/// Share axis of a waterfall: from where it is cut, or from below 0, to its end, with round ticks. Plain arithmetic.
struct ShareAxis
{
    double low = 0;
    double high = 1;
    double step = 0.25;
    [[nodiscard]] bool isCut() const { return low > 0; }
    /// Position of a share on a track, clamped to it.
    [[nodiscard]] double x(double share, const QRectF& track) const;
};
/// The axis on which these levels fill the track: cut when all lie close together, begun below 0 when one lies there.
[[nodiscard]] ShareAxis shareAxis(double lowest, double highest);

struct WaterfallRow
{
    QRectF row;
    QRectF name;
    QRectF bar; ///< empty for Unexplained
    QRectF percent;
    QRectF score;
};

/// Sentence-free body of the ledger. Plain geometry.
struct WaterfallLayout
{
    ShareAxis axis;
    QRectF track; ///< x range of the bars over all rows
    QRectF titles;
    QRectF percentTitle;
    QRectF scoreTitle;
    std::vector<WaterfallRow> rows;
    double ruleY = 0; ///< hairline above Unexplained
    QRectF note;      ///< "axis starts at 95 %"
    double height = 0;
};
/// Rows are as high as is comfortable, or, where the area is lower than that, as low as their text allows; an area
/// without height is high enough.
[[nodiscard]] WaterfallLayout layoutWaterfall(const LedgerBooks& books, const QRectF& area);

/// A line of the axis.
struct AxisLine
{
    double x = 0;
    QString figure; ///< in percent; empty where there is no room for it
    bool isZero = false;
};
/// The lines of a layout's axis, with as many figures as fit beside each other. Where the axis begins below 0, zero has
/// its figure, else its end has.
[[nodiscard]] std::vector<AxisLine> axisLines(const WaterfallLayout& layout);

void paintWaterfall(QPainter& painter, const LedgerBooks& books, const WaterfallLayout& layout, const Theme& theme);

} // namespace retro::views
