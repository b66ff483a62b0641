// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "views/plan/planmodel.h"

#include <QRectF>
#include <QSizeF>

#include <string>
#include <vector>

class QPainter;

namespace retro::views
{

class Theme;

/// Peak and extra work over the size of the blocks that a plan is cut into. Plain values.
struct BlockFigure
{
    std::vector<BlockPoint> points; ///< by rising size
    std::size_t operators = 0;      ///< of the forward pass: the largest size
    double baseCost = 0;            ///< of computing nothing twice
    std::uint64_t budget = 0;       ///< bytes
    std::size_t chosen = 0;         ///< size of the blocks of the plan on screen; 0 = it has none

    /// Cost over the base, per cent.
    [[nodiscard]] double extra(double cost) const;
    /// √operators, the size of Chen et al. 2016; at least 1.
    [[nodiscard]] std::size_t root() const;
};

/// Sizes that the curve has: all small ones, then sizes that grow by a quarter, and the whole.
[[nodiscard]] std::vector<std::size_t> blockSizes(std::size_t operators);

/// Where the curve lies, for a size of the picture; sizes of blocks stand on a logarithmic axis.
struct BlockScale
{
    QRectF chart;
    double mostSize = 2;
    double leastBytes = 0;
    double mostBytes = 1;
    double mostExtra = 1; ///< per cent

    [[nodiscard]] double x(double size) const;
    [[nodiscard]] double yOfBytes(double bytes) const;
    [[nodiscard]] double yOfExtra(double extra) const;
    /// The size at a pixel, within the axis.
    [[nodiscard]] std::size_t sizeAt(double pixel) const;
};
[[nodiscard]] BlockScale blockScale(const BlockFigure& figure, const QSizeF& size);

void paintBlockCurve(QPainter& painter, const BlockFigure& figure, const QSizeF& size, const Theme& theme);
/// The points as CSV: operators, peak_bytes, extra_work_percent, fits.
[[nodiscard]] std::string blockCsv(const BlockFigure& figure);

} // namespace retro::views
