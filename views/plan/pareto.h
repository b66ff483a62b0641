// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "views/plan/planmodel.h"

#include <QRectF>
#include <QSizeF>

#include <optional>
#include <vector>

class QPainter;

namespace retro::views
{

class Theme;

/// Plans as points of memory against work, the line of the best known, and what is asked. Plain values.
struct ParetoFigure
{
    std::vector<PlanPoint> points;        ///< of every planner that was asked so far
    std::vector<schedule::Attempt> tries; ///< for the present budget: marked by their planners' symbols
    std::vector<schedule::Attempt> later; ///< that a search has not come to: they have their room
    bool isTold = false;                  ///< the last of the tries was made just now
    std::string chosen;                   ///< planner of the plan on screen
    std::optional<PlanPoint> plan;        ///< the plan on screen
    std::uint64_t budget = 0;             ///< bytes
    std::uint64_t storeAllPeak = 0;       ///< bytes
    double baseCost = 0;                  ///< of computing nothing twice

    /// Cost over the base, per cent.
    [[nodiscard]] double extra(double cost) const;
};

/// Points that no other point beats in memory and work, by rising memory.
[[nodiscard]] std::vector<PlanPoint> paretoFront(const std::vector<PlanPoint>& points);

/// Scales of the chart. The axis of work is cut where few dear plans would flatten the rest.
struct ParetoScale
{
    QRectF chart;
    double mostBytes = 1;
    double leastBytes = 0;
    double mostExtra = 1;  ///< per cent
    std::size_t above = 0; ///< points beyond the axis

    [[nodiscard]] QPointF at(double bytes, double extra) const;
};
[[nodiscard]] ParetoScale paretoScale(const ParetoFigure& figure, const QSizeF& size);

/// Which of the six symbols stands for a planner.
[[nodiscard]] int symbolOf(const std::string& planner);
/// Triangle, diamond, triangle down, circle, cross, square; `isChosen` = filled, in the accent.
void paintSymbol(QPainter& painter, const QPointF& center, double radius, int symbol, bool isChosen,
                 const Theme& theme);
void paintPareto(QPainter& painter, const ParetoFigure& figure, const QSizeF& size, const Theme& theme);
/// The try nearest to a place, within a few pixels; null when there is none.
[[nodiscard]] const schedule::Attempt* attemptAt(const ParetoFigure& figure, const QSizeF& size, const QPointF& at);
/// Points as CSV: planner, peak, cost, extra work in per cent, on the line of the best or not.
[[nodiscard]] std::string paretoCsv(const ParetoFigure& figure);

} // namespace retro::views
