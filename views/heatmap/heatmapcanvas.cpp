// SPDX-License-Identifier: Apache-2.0
#include "views/heatmap/heatmapcanvas.h"

#include "views/common/paint/fonts.h"
#include "views/common/paint/theme.h"

#include <QKeyEvent>
#include <QMouseEvent>
#include <QPainter>
#include <QWheelEvent>

#include <algorithm>
#include <cmath>

namespace retro::views
{

namespace
{

constexpr double kMaxPixel = 64;
constexpr double kMinPixel = 1.0 / 16;
constexpr double kMargin = 2; // design pixels at the sides; above and below there are rows of their own
constexpr double kGap = 6;
constexpr double kStripMargin = 8; // a strip begins where the controls above it do
constexpr double kWipeReach = 6;   // of the pointer to the line between two runs
constexpr double kWipeStep = 0.05; // of a key
constexpr double kMaxFit = 40;     // a row of three numbers does not fill the pane

bool hasTwoPictures(const HeatmapFigure& figure)
{
    return figure.mode == HeatmapMode::SideBySide && !figure.picture.isNull();
}

QPoint nextOf(int key)
{
    switch (key) {
    case Qt::Key_Left:
        return {-1, 0};
    case Qt::Key_Right:
        return {1, 0};
    case Qt::Key_Up:
        return {0, -1};
    case Qt::Key_Down:
        return {0, 1};
    default:
        return {};
    }
}

/// The bar beside what is drawn and as high as it, as long as that leaves room for the figures.
void placeBar(const HeatmapFigure& figure, const QRectF& area, double width, HeatmapPlacement& placement)
{
    const double left = std::min(placement.picture.right(), placement.room.right()) + kGap;
    const double top = std::max(placement.picture.top(), area.top());
    const double bottom = std::min(placement.picture.bottom(), area.bottom());
    const double height = std::clamp(bottom - top, std::min(180.0, area.height()), area.height());
    const double y = std::clamp((top + bottom - height) / 2, area.top(), area.bottom() - height);
    placement.bar = layoutColorBar(figure.bar, {left, y, width, height});
}

/// A strip fills the room's width and can be dragged; its cells have one size.
void placeSteps(const HeatmapFigure& figure, const HeatmapCamera& camera, HeatmapPlacement& placement)
{
    const double margin = fonts::px(kStripMargin);
    placement.steps = layoutSteps(figure.strip, placement.room.width() - margin);
    const QPointF corner = placement.room.topLeft() + QPointF(margin, std::min(0.0, camera.pan.y()));
    placement.picture = QRectF(corner, sizeOfSteps(placement.steps));
}

} // namespace

double HeatmapCamera::larger(double pixel)
{
    if (pixel < 1) {
        return std::min(1.0, pixel * 2);
    }
    return std::min(kMaxPixel, std::floor(pixel) + std::max(1.0, std::floor(pixel / 4)));
}

double HeatmapCamera::smaller(double pixel)
{
    if (pixel <= 1) {
        return std::max(kMinPixel, pixel / 2);
    }
    return std::max(1.0, std::ceil(pixel) - std::max(1.0, std::floor(pixel / 5)));
}

std::optional<QPoint> HeatmapPlacement::valueAt(const QPointF& point) const
{
    if (!room.contains(point)) {
        return std::nullopt;
    }
    if (!steps.empty()) {
        const int step = stepAt(steps, point - picture.topLeft());
        return step < 0 ? std::nullopt : std::optional(QPoint(step, 0));
    }
    for (const QRectF& box : {picture, beside}) {
        if (!box.isEmpty() && box.contains(point)) {
            const QPointF inside = (point - box.topLeft()) / pixel;
            return QPoint(static_cast<int>(inside.x()), static_cast<int>(inside.y()));
        }
    }
    return std::nullopt;
}

HeatmapPlacement placeFigure(const HeatmapFigure& figure, const HeatmapCamera& camera, const QRectF& area)
{
    HeatmapPlacement placement;
    if (figure.plane.isEmpty()) {
        return placement;
    }
    const double barRoom = figure.hasBar ? kGap + colorBarWidth(figure.bar) : 0;
    placement.room = area.adjusted(0, 0, -barRoom, 0);
    if (!figure.strip.isEmpty()) {
        placeSteps(figure, camera, placement);
        placeBar(figure, area, barRoom - kGap, placement);
        return placement;
    }
    HeatmapFigure bare; // the same pictures without words, to ask for the fitting size
    bare.plane.width = figure.plane.width;
    bare.plane.height = figure.plane.height;
    bare.plane.values.resize(1);
    bare.mode = figure.mode;
    bare.picture = figure.picture;
    bare.hasBar = false;
    const double fit = fittingPixel(bare, placement.room.size());
    const double widest = figure.picture.isNull() ? std::min(fit, kMaxFit) : fit;
    placement.pixel = camera.pixel > 0 ? camera.pixel : widest;
    const QSizeF one(figure.plane.width * placement.pixel, figure.plane.height * placement.pixel);
    const double width = hasTwoPictures(figure) ? 2 * one.width() + kGap : one.width();
    const QPointF middle = placement.room.center() + camera.pan;
    const QPointF corner(std::round(middle.x() - width / 2), std::round(middle.y() - one.height() / 2));
    placement.picture = QRectF(corner + QPointF(width - one.width(), 0), one);
    if (hasTwoPictures(figure)) {
        placement.beside = QRectF(corner, one);
    }
    if (figure.hasBar) {
        placeBar(figure, area, barRoom - kGap, placement);
    }
    return placement;
}

HeatmapCanvas::HeatmapCanvas(QWidget* parent) : QWidget(parent)
{
    setMouseTracking(true);
    setFocusPolicy(Qt::StrongFocus);
    setMinimumSize(fonts::px(120), fonts::px(84)); // a low window stays low
    setAccessibleName(tr("Heatmap"));
    setAccessibleDescription(tr("Relevance as colours; arrow keys move the probe, plus and minus zoom, 0 fits. "
                                "With another run beside it, Shift with left and right moves the line."));
}

void HeatmapCanvas::setFigure(HeatmapFigure figure)
{
    const bool isOtherSize = figure.plane.width != m_figure.plane.width || figure.plane.height != m_figure.plane.height;
    m_figure = std::move(figure);
    if (isOtherSize) {
        m_camera = {};
        m_probed = {-1, -1};
    }
    m_image = figureImage(m_figure);
    place();
    emit probed(m_probed);
}

void HeatmapCanvas::setCamera(const HeatmapCamera& camera)
{
    m_camera = camera;
    place();
}

void HeatmapCanvas::place()
{
    const double margin = fonts::px(kMargin);
    m_placement = placeFigure(m_figure, m_camera, QRectF(rect()).adjusted(margin, 1, -margin, -2));
    update();
}

void HeatmapCanvas::zoomIn() { zoomAt(m_placement.room.center(), HeatmapCamera::larger(m_placement.pixel)); }

void HeatmapCanvas::zoomOut() { zoomAt(m_placement.room.center(), HeatmapCamera::smaller(m_placement.pixel)); }

void HeatmapCanvas::zoomToFit() { setCamera({}); }

void HeatmapCanvas::zoomAt(const QPointF& point, double pixel)
{
    const double factor = pixel / m_placement.pixel;
    const QPointF middle = m_placement.room.center() + m_camera.pan;
    setCamera({pixel, point - (point - middle) * factor - m_placement.room.center()});
}

void HeatmapCanvas::paintEvent(QPaintEvent* /*event*/)
{
    const Theme& colors = theme(this);
    QPainter painter(this);
    painter.fillRect(rect(), colors[Role::Base]);
    if (m_figure.plane.isEmpty()) {
        return;
    }
    if (!m_figure.strip.isEmpty()) {
        paintStrip(painter, colors);
        return;
    }
    painter.save();
    painter.setClipRect(m_placement.room);
    painter.setRenderHint(QPainter::SmoothPixmapTransform, m_placement.pixel < 1 || m_figure.isSmooth);
    painter.drawImage(m_placement.picture, m_image);
    if (!m_placement.beside.isEmpty()) {
        painter.setRenderHint(QPainter::SmoothPixmapTransform, m_placement.pixel < 1);
        painter.drawImage(m_placement.beside, m_figure.picture);
    }
    if (m_figure.box) {
        paintFigureBox(painter, *m_figure.box, m_placement.picture.topLeft(), m_placement.pixel);
    }
    if (m_figure.wipe) {
        paintWipe(painter, *m_figure.wipe, m_placement.picture, m_placement.pixel, colors);
    }
    if (hasFocus() && m_probed.x() >= 0) {
        painter.setBrush(Qt::NoBrush);
        painter.setPen(QPen(colors[Role::Accent], 2));
        painter.drawRect(QRectF(m_placement.picture.topLeft() + QPointF(m_probed) * m_placement.pixel,
                                QSizeF(m_placement.pixel, m_placement.pixel)));
    }
    painter.restore();
    if (m_figure.hasBar) {
        paintColorBar(painter, m_figure.bar, m_placement.bar, colors);
    }
}

void HeatmapCanvas::paintStrip(QPainter& painter, const Theme& colors) const
{
    painter.save();
    painter.setClipRect(m_placement.room);
    painter.translate(m_placement.picture.topLeft());
    paintSteps(painter, m_figure.strip, m_placement.steps, colors);
    const auto step = static_cast<std::size_t>(std::max(0, m_probed.x()));
    if (hasFocus() && m_probed.x() >= 0 && step < m_placement.steps.size()) {
        painter.setBrush(Qt::NoBrush);
        painter.setPen(QPen(colors[Role::Accent], 2));
        painter.drawRoundedRect(m_placement.steps[step].adjusted(1, 1, -1, -1), 3, 3);
    }
    painter.restore();
    paintColorBar(painter, m_figure.bar, m_placement.bar, colors);
}

void HeatmapCanvas::resizeEvent(QResizeEvent* event)
{
    QWidget::resizeEvent(event);
    place();
}

void HeatmapCanvas::probe(std::optional<QPoint> value)
{
    const QPoint at = value.value_or(QPoint(-1, -1));
    if (at != m_probed) {
        m_probed = at;
        emit probed(at);
        update();
    }
}

bool HeatmapCanvas::isOnWipe(const QPointF& point) const
{
    const QRectF& picture = m_placement.picture;
    if (!m_figure.wipe || point.y() < picture.top() || point.y() > picture.bottom()) {
        return false;
    }
    const double x = picture.left() + m_figure.wipe->column() * m_placement.pixel;
    return std::abs(point.x() - x) <= fonts::px(kWipeReach);
}

void HeatmapCanvas::wipeTo(double place)
{
    m_figure.wipe->place = std::clamp(place, 0.0, 1.0);
    m_image = figureImage(m_figure);
    update();
    emit wiped(m_figure.wipe->place);
}

void HeatmapCanvas::mouseMoveEvent(QMouseEvent* event)
{
    if (m_isWiping && m_figure.wipe) {
        wipeTo((event->position().x() - m_placement.picture.left()) / m_placement.picture.width());
        return;
    }
    if (isOnWipe(event->position())) {
        setCursor(Qt::SplitHCursor);
    } else {
        unsetCursor();
    }
    if (m_dragFrom) {
        const QPointF moved = event->position() - *m_dragFrom;
        m_dragFrom = event->position();
        setCamera({m_placement.pixel, m_camera.pan + moved});
        return;
    }
    probe(m_placement.valueAt(event->position()));
}

void HeatmapCanvas::mousePressEvent(QMouseEvent* event)
{
    m_isWiping = event->button() == Qt::LeftButton && isOnWipe(event->position());
    if (!m_isWiping && (event->button() == Qt::LeftButton || event->button() == Qt::MiddleButton)) {
        m_dragFrom = event->position();
    }
}

void HeatmapCanvas::mouseReleaseEvent(QMouseEvent* /*event*/)
{
    m_dragFrom.reset();
    m_isWiping = false;
}

void HeatmapCanvas::leaveEvent(QEvent* /*event*/) { probe(std::nullopt); }

void HeatmapCanvas::wheelEvent(QWheelEvent* event)
{
    if (m_figure.plane.isEmpty() || event->angleDelta().y() == 0) {
        event->ignore();
        return;
    }
    const double pixel = event->angleDelta().y() > 0 ? HeatmapCamera::larger(m_placement.pixel)
                                                     : HeatmapCamera::smaller(m_placement.pixel);
    zoomAt(event->position(), pixel);
}

void HeatmapCanvas::keyPressEvent(QKeyEvent* event)
{
    switch (event->key()) {
    case Qt::Key_Plus:
        return zoomIn();
    case Qt::Key_Minus:
        return zoomOut();
    case Qt::Key_0:
        return zoomToFit();
    default:
        break;
    }
    const QPoint step = nextOf(event->key());
    if (m_figure.wipe && step.x() != 0 && event->modifiers().testFlag(Qt::ShiftModifier)) {
        return wipeTo(m_figure.wipe->place + step.x() * kWipeStep);
    }
    if (step.isNull() || m_figure.plane.isEmpty()) {
        return QWidget::keyPressEvent(event);
    }
    const QPoint from = m_probed.x() < 0 ? QPoint(m_figure.plane.width, m_figure.plane.height) / 2 : m_probed + step;
    probe(
        QPoint(std::clamp(from.x(), 0, m_figure.plane.width - 1), std::clamp(from.y(), 0, m_figure.plane.height - 1)));
}

} // namespace retro::views
