// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "views/plan/schedulefigure.h"

#include <QPolygonF>

class QPainter;
class QPixmap;

namespace retro::views
{

class Theme;

/// Draws a schedule; the screen and files use the same painter. All sizes follow the application's font.
class SchedulePainter
{
public:
    SchedulePainter(QPainter& painter, const ScheduleFigure& figure, const ScheduleLayout& layout, const Theme& theme);

    /// What stands still while only the step changes.
    void paintStill();
    /// The line of the step with its figures, and the measured bytes up to it.
    void paintMoving();

private:
    void paintHeads();
    void paintNames();
    void paintName(std::uint32_t row, bool isMarked);
    void paintTree();
    void paintBox(const TreeBox& box, bool isMarked);
    void paintRuler();
    void paintMatrix();
    void paintRowGrounds();
    void paintSummary();
    void paintDetails();
    void paintSpans(std::uint32_t row);
    void paintGaps(std::uint32_t row);
    void paintWaits(std::uint32_t row);
    [[nodiscard]] bool isBroughtByMarked(std::uint32_t row) const;
    void paintCell(const ScheduleCell& cell);
    void paintSmallCells();
    void paintAxis();
    void paintCurve();
    [[nodiscard]] QPolygonF lineOf(const ScheduleMatrix& matrix) const;
    void paintSteps(const ScheduleMatrix& matrix, bool isGhost);
    void paintStack();
    void paintBand(const StackBand& band, std::uint32_t column, const QRectF& box);
    void paintBandNames();
    void paintPeak();
    void paintBudget();
    void paintMeasured();
    void paintLegend();
    [[nodiscard]] QRectF cellBox(const ScheduleCell& cell) const;
    [[nodiscard]] double y(double bytes) const;
    [[nodiscard]] bool isDetailed() const;

    QPainter& m_painter;
    const ScheduleFigure& m_figure;
    const ScheduleLayout& m_layout;
    const Theme& m_theme;
    const ShownPlan& m_plan;
    double m_most;                                     ///< bytes at the top of the curve
    std::vector<std::pair<QPointF, QString>> m_labels; ///< of the stack
};

/// A sample of the mark of a cell, for legends and tables.
void paintCellMark(QPainter& painter, const QRectF& box, CellKind kind, const Theme& theme);
/// A sample of the mark of a decision.
void paintDecision(QPainter& painter, const QRectF& box, Decision decision, const Theme& theme);
/// The same as an icon of tables, in the colours of the present theme.
[[nodiscard]] QPixmap decisionPixmap(Decision decision);

} // namespace retro::views
