// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "views/common/paint/heatmapimage.h"
#include "views/heatmap/stepschart.h"

#include <QWidget>

#include <optional>

namespace retro::views
{

/// Where a figure lies in a widget: zoom and pan. Plain geometry.
struct HeatmapCamera
{
    double pixel = 0; ///< length of one value; 0 = fit
    QPointF pan;      ///< of the picture's centre from the middle of the room

    /// Zoom levels are whole numbers above 1 and unit fractions below.
    [[nodiscard]] static double larger(double pixel);
    [[nodiscard]] static double smaller(double pixel);
};

/// A figure placed in the room of a widget: colour bar at the right edge, picture in the middle of the rest.
struct HeatmapPlacement
{
    double pixel = 1;
    QRectF room;               ///< for the pictures; what sticks out is clipped
    QRectF picture;            ///< the heatmap
    QRectF beside;             ///< the bare picture; empty unless side by side
    std::vector<QRectF> steps; ///< cells of a strip, from the corner of `picture`; empty unless there are steps
    StepsChartLayout chart;    ///< below the strip; empty unless there are steps, and room
    ColorBarLayout bar;

    /// Value of the plane under a point; none outside. Works on the bare picture too.
    [[nodiscard]] std::optional<QPoint> valueAt(const QPointF& point) const;
};
[[nodiscard]] HeatmapPlacement placeFigure(const HeatmapFigure& figure, const HeatmapCamera& camera, const QRectF& area,
                                           bool isTable = false);

/// How the pointer marks a region.
enum class MarkTool : std::uint8_t {
    None, ///< it does not: dragging moves the picture
    Box,
    Brush
};

/// Paints a figure with zoom and pan and tells the value under the pointer.
class HeatmapCanvas final : public QWidget
{
    Q_OBJECT

public:
    explicit HeatmapCanvas(QWidget* parent = nullptr);

    void setFigure(HeatmapFigure figure);
    [[nodiscard]] const HeatmapFigure& figure() const { return m_figure; }
    /// What is drawn below the strip of a figure of steps, where there is room.
    void setChart(StepsChart chart);
    [[nodiscard]] const StepsChart& chart() const { return m_chart; }
    [[nodiscard]] const HeatmapPlacement& placement() const { return m_placement; }
    [[nodiscard]] const HeatmapCamera& camera() const { return m_camera; }
    void setCamera(const HeatmapCamera& camera);
    [[nodiscard]] QSize sizeHint() const override { return {420, 420}; }

    /// Outlines over the picture in pixels of the plane: those of what is asked, and of the others.
    void setOutlines(QList<QLineF> asked, QList<QLineF> others);

    /// Dragging marks pixels or steps; a click marks a step or takes its mark away; a stroke takes the place of the one
    /// before, with Shift it is added.
    void setMarkTool(MarkTool tool);
    [[nodiscard]] MarkTool markTool() const { return m_tool; }
    /// A stroke is under way.
    [[nodiscard]] bool isMarking() const { return m_strokeFrom.has_value(); }
    /// What is marked: one entry per value of the figure's plane, not 0 = marked; empty = nothing.
    [[nodiscard]] const std::vector<std::uint8_t>& marks() const { return m_marks; }
    void setMarks(std::vector<std::uint8_t> marks);

public slots:
    void zoomIn() { zoomAt(m_placement.room.center(), HeatmapCamera::larger(m_placement.pixel)); }
    void zoomOut() { zoomAt(m_placement.room.center(), HeatmapCamera::smaller(m_placement.pixel)); }
    void zoomToFit() { setCamera({}); }

signals:
    /// A value was clicked.
    void picked(QPoint value);
    /// Other values are marked.
    void marked();
    /// The line between two runs was moved to a share of the width.
    void wiped(double place);
    /// The value (in pixels of the plane) under the pointer or the keyboard's probe; (−1, −1) when none.
    void probed(QPoint value);

protected:
    void paintEvent(QPaintEvent* event) override;
    void resizeEvent(QResizeEvent* event) override;
    void mouseMoveEvent(QMouseEvent* event) override;
    void mousePressEvent(QMouseEvent* event) override;
    void mouseReleaseEvent(QMouseEvent* event) override;
    void leaveEvent(QEvent* event) override;
    void wheelEvent(QWheelEvent* event) override;
    void keyPressEvent(QKeyEvent* event) override;

private:
    void place();
    void paintStrip(QPainter& painter, const Theme& colors) const;
    void probe(std::optional<QPoint> value);
    void zoomAt(const QPointF& point, double pixel);
    [[nodiscard]] bool isOnWipe(const QPointF& point) const;
    void wipeTo(double place);
    void beginStroke(const QPoint& at, bool isAdded);
    void strokeTo(const QPoint& at);
    void paintChartMarks(QPainter& painter, const Theme& colors) const;
    void paintMarks(QPainter& painter, const Theme& colors) const;
    void paintOutlines(QPainter& painter) const;
    void toggleStep(int step);
    [[nodiscard]] QPoint clampedValueAt(const QPointF& point) const;

    HeatmapFigure m_figure;
    StepsChart m_chart;
    HeatmapCamera m_camera;
    HeatmapPlacement m_placement;
    QImage m_image;
    QList<QLineF> m_asked;
    QList<QLineF> m_others;
    QPoint m_probed{-1, -1};
    std::optional<QPointF> m_dragFrom;
    QPointF m_pressedAt;
    bool m_isClick = false; ///< pressed, and not moved since
    MarkTool m_tool = MarkTool::None;
    std::vector<std::uint8_t> m_marks;
    std::vector<std::uint8_t> m_markedBefore; ///< under the stroke
    std::optional<QPoint> m_strokeFrom;
    int m_clickedStep = -1;  ///< of a stroke that has not left it
    bool m_isAdding = false; ///< the stroke adds to what is marked
    bool m_isWiping = false;
};

} // namespace retro::views
