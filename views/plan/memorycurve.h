// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "views/plan/schedulefigure.h"

#include <QPolygonF>

class QPainter;

namespace retro::views
{

class Theme;

/// Draws what is in memory below a schedule: tensor by tensor, with the budget, the peak and what a run needed.
class MemoryCurve
{
public:
    MemoryCurve(QPainter& painter, const ScheduleFigure& figure, const ScheduleLayout& layout, const Theme& theme);

    /// All but what was measured.
    void paint();
    /// Of a run, up to the step that is shown.
    void paintMeasured();
    /// Where so many bytes are.
    [[nodiscard]] double y(double bytes) const;

private:
    void paintAxis();
    [[nodiscard]] QPolygonF lineOf(const ScheduleMatrix& matrix) const;
    void paintSteps(const ScheduleMatrix& matrix, bool isGhost);
    void paintStack();
    void paintBand(const StackBand& band, std::uint32_t column, const QRectF& box);
    void paintBandEdges(const StackBand& band, std::uint32_t column, const QRectF& box, bool isMarked);
    void noteBandName(const StackBand& band, std::uint32_t column, const QRectF& box);
    void paintBandNames();
    void paintPeak();
    void paintBudget();

    QPainter& m_painter;
    const ScheduleFigure& m_figure;
    const ScheduleLayout& m_layout;
    const Theme& m_theme;
    const ShownPlan& m_plan;
    double m_most;                                     ///< bytes at the top of the curve
    std::vector<std::pair<QPointF, QString>> m_labels; ///< of the stack
};

} // namespace retro::views
