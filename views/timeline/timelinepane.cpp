// SPDX-License-Identifier: Apache-2.0
#include "views/timeline/timelinepane.h"

#include "views/common/fonts.h"
#include "views/common/numbertext.h"
#include "views/common/theme.h"

#include <QKeyEvent>
#include <QMouseEvent>
#include <QPainter>
#include <QToolTip>
#include <QWheelEvent>

#include <algorithm>
#include <cmath>

namespace retro::views
{

TimelinePane::TimelinePane(RunModel& model, Cursor& cursor, QWidget* parent)
    : QWidget(parent), m_model(model), m_cursor(cursor)
{
    setFocusPolicy(Qt::StrongFocus);
    setMouseTracking(true);
    setAccessibleName(tr("Timeline"));
    setAccessibleDescription(tr("Visits of the run from left to right. Arrow keys step, Home and End go to the ends."));
}

void TimelinePane::setRun()
{
    m_landed.clear();
    m_total.clear();
    m_bytes.clear();
    m_marks.clear();
    if (m_model.hasRun()) {
        const trace::VisitSeries& series = m_model.series();
        for (std::size_t i = 0; i < series.mode.size(); ++i) {
            m_landed.push_back(series.frontierLanded[i]);
            m_total.push_back(static_cast<double>(series.frontierLanded[i]) + series.frontierHeld[i]);
            m_bytes.push_back(static_cast<double>(series.frontierBytes[i]));
        }
        m_marks = promiseMarks(m_model.run(), series);
    }
    m_scale.count = std::max<double>(1, static_cast<double>(m_total.size()));
    m_scale.fit();
    update();
}

void TimelinePane::follow()
{
    if (m_model.hasRun() && !m_isScrubbing) {
        m_scale.reveal(cursorVisit(m_model.run(), m_model.position()));
    }
    update();
}

TimeScale TimelinePane::scaleFor(const TimelineTracks& tracks) const
{
    TimeScale scale = m_scale;
    scale.left = tracks.modes.left();
    scale.width = tracks.modes.width();
    return scale;
}

std::uint64_t TimelinePane::positionAt(double x) const
{
    const TimeScale scale = scaleFor(layoutTracks(width(), height(), fonts::scale()));
    if (m_total.empty() || x < scale.left) {
        return 0;
    }
    return m_model.run().endOfVisit(scale.visitUnder(x));
}

QSize TimelinePane::sizeHint() const { return {fonts::px(640), fonts::px(220)}; }

QSize TimelinePane::minimumSizeHint() const { return {fonts::px(260), fonts::px(150)}; }

void TimelinePane::paintEvent(QPaintEvent*)
{
    QPainter painter(this);
    paint(painter, QSizeF(size()), theme(this));
}

void TimelinePane::scrubTo(double x) { m_cursor.moveTo(positionAt(x)); }

void TimelinePane::mousePressEvent(QMouseEvent* event)
{
    if (event->button() == Qt::LeftButton && m_model.hasRun()) {
        m_isScrubbing = true;
        scrubTo(event->position().x());
    }
}

void TimelinePane::mouseMoveEvent(QMouseEvent* event)
{
    if (m_isScrubbing) {
        scrubTo(event->position().x());
        return;
    }
    QToolTip::showText(event->globalPosition().toPoint(), tipAt(event->position().x()), this);
}

void TimelinePane::mouseReleaseEvent(QMouseEvent*) { m_isScrubbing = false; }

void TimelinePane::mouseDoubleClickEvent(QMouseEvent*)
{
    m_scale.fit();
    update();
}

void TimelinePane::wheelEvent(QWheelEvent* event)
{
    const TimelineTracks tracks = layoutTracks(width(), height(), fonts::scale());
    TimeScale scale = scaleFor(tracks);
    const QPoint delta = event->angleDelta();
    if (event->modifiers() & Qt::ShiftModifier || delta.y() == 0) {
        scale.pan(-(delta.x() + delta.y()));
    } else {
        scale.zoomAt(event->position().x(), std::pow(1.0015, delta.y()));
    }
    m_scale = scale;
    event->accept();
    update();
}

void TimelinePane::keyPressEvent(QKeyEvent* event)
{
    if (!m_model.hasRun() || m_total.empty()) {
        QWidget::keyPressEvent(event);
        return;
    }
    const trace::Run& run = m_model.run();
    const std::uint64_t position = m_model.position();
    const std::uint32_t step = event->modifiers() & Qt::ShiftModifier ? std::max(1U, run.visitCount() / 100) : 1;
    const std::uint32_t visit = position == 0 ? 0 : run.visitOf(position - 1);
    if (event->key() == Qt::Key_Right) {
        const std::uint32_t target = position == 0 ? step - 1 : std::min(run.visitCount() - 1, visit + step);
        m_cursor.moveTo(run.endOfVisit(target));
    } else if (event->key() == Qt::Key_Left) {
        m_cursor.moveTo(visit < step ? 0 : run.endOfVisit(visit - step));
    } else {
        QWidget::keyPressEvent(event);
    }
}

void TimelinePane::leaveEvent(QEvent*) { QToolTip::hideText(); }

QString TimelinePane::tipAt(double x) const
{
    const TimelineTracks tracks = layoutTracks(width(), height(), fonts::scale());
    if (!m_model.hasRun() || m_total.empty() || x < tracks.modes.left() || x > tracks.modes.right()) {
        return {};
    }
    const std::uint32_t visit = scaleFor(tracks).visitUnder(x);
    const trace::VisitSeries& series = m_model.series();
    return tr("Visit %1: %2, %3 tensors in the frontier, %4")
        .arg(countText(visit + 1), m_model.label(series.node[visit]),
             countText(static_cast<std::int64_t>(m_total[visit])), bytesText(series.frontierBytes[visit]));
}

} // namespace retro::views
