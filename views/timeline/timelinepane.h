// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "views/common/viewcontext.h"
#include "views/timeline/timelinetracks.h"

#include <QWidget>

namespace retro::views
{

class Theme;

/// The painted tracks of the timeline: ruler, mode strip, promise marks, frontier width, frontier bytes, one cursor
/// line through all of them. Drag = scrub (the newest position wins), wheel = zoom at the pointer, Shift+wheel = pan,
/// double click = fit.
class TimelinePane final : public QWidget
{
    Q_OBJECT

public:
    TimelinePane(RunModel& model, Cursor& cursor, QWidget* parent = nullptr);

    /// Another run: takes its series and shows the whole of it.
    void setRun();
    /// The cursor moved.
    void follow();
    /// Draws the pane at any size; screen and files use the same painter.
    void paint(QPainter& painter, const QSizeF& size, const Theme& theme) const;
    /// Position of the run under a pixel: the end of the visit there.
    [[nodiscard]] std::uint64_t positionAt(double x) const;
    [[nodiscard]] QSize sizeHint() const override;
    [[nodiscard]] QSize minimumSizeHint() const override;

protected:
    void paintEvent(QPaintEvent* event) override;
    void mousePressEvent(QMouseEvent* event) override;
    void mouseMoveEvent(QMouseEvent* event) override;
    void mouseReleaseEvent(QMouseEvent* event) override;
    void mouseDoubleClickEvent(QMouseEvent* event) override;
    void wheelEvent(QWheelEvent* event) override;
    void keyPressEvent(QKeyEvent* event) override;
    void leaveEvent(QEvent* event) override;

private:
    [[nodiscard]] TimeScale scaleFor(const TimelineTracks& tracks) const;
    void paintRuler(QPainter& painter, const TimelineTracks& tracks, const TimeScale& scale, const Theme& theme) const;
    void paintModes(QPainter& painter, const TimelineTracks& tracks, const TimeScale& scale, const Theme& theme) const;
    void paintMarks(QPainter& painter, const TimelineTracks& tracks, const TimeScale& scale, const Theme& theme) const;
    void paintFrontier(QPainter& painter, const TimelineTracks& tracks, const TimeScale& scale,
                       const Theme& theme) const;
    void paintBytes(QPainter& painter, const TimelineTracks& tracks, const TimeScale& scale, const Theme& theme) const;
    void paintCursor(QPainter& painter, const TimelineTracks& tracks, const TimeScale& scale, const Theme& theme) const;
    void paintReadOut(QPainter& painter, const TimelineTracks& tracks, const TimeScale& scale,
                      const Theme& theme) const;
    void scrubTo(double x);
    [[nodiscard]] QString tipAt(double x) const;

    RunModel& m_model;
    Cursor& m_cursor;
    TimeScale m_scale; // visible part; pixels are filled in by scaleFor
    std::vector<double> m_landed;
    std::vector<double> m_total;
    std::vector<double> m_bytes;
    std::vector<PromiseMark> m_marks;
    bool m_isScrubbing = false;
};

} // namespace retro::views
