// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "views/plan/memorycurve.h"

class QPainter;

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
    void paintGapName(const ScheduleGap& gap, double left, double right, double half, double y);
    void paintWaits(std::uint32_t row);
    [[nodiscard]] bool isBroughtByMarked(std::uint32_t row) const;
    void paintCell(const ScheduleCell& cell);
    void paintSmallCells();
    void paintLegend();
    void paintTried(std::uint32_t row);
    [[nodiscard]] QRectF cellBox(const ScheduleCell& cell) const;
    [[nodiscard]] bool isDetailed() const;

    QPainter& m_painter;
    const ScheduleFigure& m_figure;
    const ScheduleLayout& m_layout;
    const Theme& m_theme;
    const ShownPlan& m_plan;
    MemoryCurve m_curve;
};

} // namespace retro::views
