// SPDX-License-Identifier: Apache-2.0
#include "views/heatmap/heatmapcanvas.h"

#include "views/common/paint/fonts.h"
#include "views/common/paint/theme.h"
#include "views/common/widgets/arrowstep.h"
#include "views/heatmap/featurerows.h"

#include <QKeyEvent>
#include <QMouseEvent>
#include <QPainter>
#include <QWheelEvent>

#include <algorithm>
#include <cmath>
#include <utility>

namespace retro::views
{

namespace
{

constexpr double kMaxPixel = 64;
constexpr double kMinPixel = 1.0 / 16;
constexpr double kMargin = 2; // design pixels at the sides; above and below there are rows of their own
constexpr double kGap = 6;
constexpr double kChartGap = 12;
constexpr double kChartBar = 200;
constexpr double kStripMargin = 8; // a strip begins where the controls above it do
constexpr double kWipeReach = 6;   // of the pointer to the line between two runs
constexpr double kWipeStep = 0.05; // of a key
constexpr int kBrushShare = 24;    // of the shorter side: the radius of the brush
constexpr int kClickReach = 4;     // pixels that a click may move
constexpr double kMaxFit = 40;     // a row of three numbers does not fill the pane

bool hasTwoPictures(const HeatmapFigure& figure)
{
    return figure.mode == HeatmapMode::SideBySide && !figure.picture.isNull();
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
void placeSteps(const HeatmapFigure& figure, const HeatmapCamera& camera, bool isTable, HeatmapPlacement& placement)
{
    const double margin = fonts::px(kStripMargin);
    const double width = placement.room.width() - margin;
    placement.steps = isTable ? layoutFeatures(figure.strip, width) : layoutSteps(figure.strip, width);
    const QPointF corner = placement.room.topLeft() + QPointF(margin, std::min(0.0, camera.pan.y()));
    placement.picture = QRectF(corner, sizeOfSteps(placement.steps));
}

/// Marks a place of a plane, or nothing outside of it.
void markAt(std::vector<std::uint8_t>& marks, const Plane& plane, int x, int y)
{
    if (x >= 0 && y >= 0 && x < plane.width && y < plane.height) {
        marks[static_cast<std::size_t>(y) * static_cast<std::size_t>(plane.width) + static_cast<std::size_t>(x)] = 1;
    }
}

bool isMarkedAt(const std::vector<std::uint8_t>& marks, const Plane& plane, int x, int y)
{
    return x >= 0 && y >= 0 && x < plane.width && y < plane.height &&
           marks[static_cast<std::size_t>(y) * static_cast<std::size_t>(plane.width) + static_cast<std::size_t>(x)] !=
               0;
}

/// Everything between two corners, both with it.
void markBox(std::vector<std::uint8_t>& marks, const Plane& plane, const QPoint& from, const QPoint& to)
{
    for (int y = std::min(to.y(), from.y()); y <= std::max(to.y(), from.y()); ++y) {
        for (int x = std::min(to.x(), from.x()); x <= std::max(to.x(), from.x()); ++x) {
            markAt(marks, plane, x, y);
        }
    }
}

void markDisc(std::vector<std::uint8_t>& marks, const Plane& plane, const QPoint& center, int radius)
{
    for (int dy = -radius; dy <= radius; ++dy) {
        for (int dx = -radius; dx <= radius; ++dx) {
            if (dx * dx + dy * dy <= radius * radius) {
                markAt(marks, plane, center.x() + dx, center.y() + dy);
            }
        }
    }
}

/// What the round brush covers on its way between two points.
void markBrushed(std::vector<std::uint8_t>& marks, const Plane& plane, const QPoint& from, const QPoint& to)
{
    const int radius = std::max(0, std::min(plane.width, plane.height) / kBrushShare);
    const int steps = std::max({1, std::abs(to.x() - from.x()), std::abs(to.y() - from.y())});
    for (int i = 0; i <= steps; ++i) {
        markDisc(marks, plane, {from.x() + (to.x() - from.x()) * i / steps, from.y() + (to.y() - from.y()) * i / steps},
                 radius);
    }
}

/// The edges between what is marked and the rest, in a picture at `corner` with places of `pixel`.
QList<QLineF> markedEdges(const std::vector<std::uint8_t>& marks, const Plane& plane, const QPointF& corner,
                          double pixel)
{
    QList<QLineF> lines;
    for (int y = 0; y <= plane.height; ++y) {
        for (int x = 0; x <= plane.width; ++x) {
            const QPointF at = corner + QPointF(x, y) * pixel;
            const bool isMarked = isMarkedAt(marks, plane, x, y);
            if (isMarked != isMarkedAt(marks, plane, x - 1, y)) {
                lines.append(QLineF(at, at + QPointF(0, pixel)));
            }
            if (isMarked != isMarkedAt(marks, plane, x, y - 1)) {
                lines.append(QLineF(at, at + QPointF(pixel, 0)));
            }
        }
    }
    return lines;
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
        const int inChart = chart.stepAt(point);
        const int step = inChart >= 0 ? inChart : stepAt(steps, point - picture.topLeft());
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

HeatmapPlacement placeFigure(const HeatmapFigure& figure, const HeatmapCamera& camera, const QRectF& area, bool isTable)
{
    HeatmapPlacement placement;
    if (figure.plane.isEmpty()) {
        return placement;
    }
    const double barRoom = figure.hasBar ? kGap + colorBarWidth(figure.bar) : 0;
    placement.room = area.adjusted(0, 0, -barRoom, 0);
    if (!figure.strip.isEmpty()) {
        placeSteps(figure, camera, isTable, placement);
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
    setAccessibleDescription(
        tr("Relevance as colours; arrow keys move the probe, Enter asks where its relevance came from, "
           "plus and minus zoom, 0 fits. "
           "With another run beside it, Shift with left and right moves the line."));
}

void HeatmapCanvas::setFigure(HeatmapFigure figure)
{
    const bool isOtherSize = figure.plane.width != m_figure.plane.width || figure.plane.height != m_figure.plane.height;
    m_figure = std::move(figure);
    if (isOtherSize) {
        m_camera = {};
        m_probed = {-1, -1};
        m_marks.clear();
        m_strokeFrom.reset();
        m_clickedStep = -1;
    }
    m_image = figureImage(m_figure);
    place();
    emit probed(m_probed);
}

void HeatmapCanvas::setChart(StepsChart chart)
{
    m_chart = std::move(chart);
    place();
}

void HeatmapCanvas::setOutlines(QList<QLineF> asked, QList<QLineF> others)
{
    m_asked = std::move(asked);
    m_others = std::move(others);
    update();
}

void HeatmapCanvas::paintOutlines(QPainter& painter) const
{
    const Theme& light = Theme::of(ThemeKind::Light); // the ground is a picture
    const auto strokes = [&](const QList<QLineF>& lines, const QPen& pen) {
        QList<QLineF> placed;
        for (const QLineF& line : lines) {
            placed.append(QLineF(m_placement.picture.topLeft() + line.p1() * m_placement.pixel,
                                 m_placement.picture.topLeft() + line.p2() * m_placement.pixel));
        }
        painter.setPen(QPen(light[Role::Base], pen.widthF() + 1.5));
        painter.drawLines(placed);
        painter.setPen(pen);
        painter.drawLines(placed);
    };
    strokes(m_others, QPen(light[Role::Text2], 1, Qt::DashLine));
    strokes(m_asked, QPen(light[Role::Accent], 2));
}

void HeatmapCanvas::toggleStep(int step)
{
    const std::size_t size = m_figure.plane.values.size();
    if (step < 0 || static_cast<std::size_t>(step) >= size) {
        return;
    }
    m_marks = m_markedBefore.size() == size ? m_markedBefore : std::vector<std::uint8_t>(size, 0);
    m_marks[static_cast<std::size_t>(step)] = m_marks[static_cast<std::size_t>(step)] == 0 ? 1 : 0;
    update();
    emit marked();
}

void HeatmapCanvas::setMarkTool(MarkTool tool)
{
    m_tool = tool;
    m_strokeFrom.reset();
    m_clickedStep = -1;
    setCursor(tool == MarkTool::None ? Qt::ArrowCursor : Qt::CrossCursor);
}

void HeatmapCanvas::setMarks(std::vector<std::uint8_t> marks)
{
    m_marks = std::move(marks);
    update();
}

QPoint HeatmapCanvas::clampedValueAt(const QPointF& point) const
{
    if (!m_placement.steps.empty()) {
        const int inChart = m_placement.chart.stepAt(point);
        return {inChart >= 0 ? inChart : stepAt(m_placement.steps, point - m_placement.picture.topLeft()), 0};
    }
    const QPointF inside = (point - m_placement.picture.topLeft()) / m_placement.pixel;
    return {std::clamp(static_cast<int>(std::floor(inside.x())), 0, m_figure.plane.width - 1),
            std::clamp(static_cast<int>(std::floor(inside.y())), 0, m_figure.plane.height - 1)};
}

void HeatmapCanvas::beginStroke(const QPoint& at, bool isAdded)
{
    const std::size_t size = m_figure.plane.values.size();
    if (!m_placement.steps.empty()) { // a click is a word more or less; a stroke begins when the pointer leaves it
        m_clickedStep = at.x();
        m_markedBefore = m_marks.size() == size ? m_marks : std::vector<std::uint8_t>(size, 0);
        m_isAdding = isAdded;
        m_strokeFrom = at;
        return;
    }
    m_markedBefore = isAdded && m_marks.size() == size ? m_marks : std::vector<std::uint8_t>(size, 0);
    m_marks = m_markedBefore;
    m_strokeFrom = at;
    strokeTo(at);
}

void HeatmapCanvas::strokeTo(const QPoint& at)
{
    if (!m_strokeFrom || at.x() < 0 || (m_clickedStep >= 0 && at.x() == m_clickedStep)) {
        return;
    }
    if (std::exchange(m_clickedStep, -1) >= 0 && !m_isAdding) { // the pointer has left the word where it was pressed
        std::ranges::fill(m_markedBefore, std::uint8_t{0});
    }
    if (m_tool == MarkTool::Box || !m_placement.steps.empty()) {
        m_marks = m_markedBefore;
        markBox(m_marks, m_figure.plane, *m_strokeFrom, at);
    } else {
        markBrushed(m_marks, m_figure.plane, *m_strokeFrom, at);
        m_strokeFrom = at;
    }
    update();
    emit marked();
}

/// The edges between what is marked and the rest, dark with a light line beside it: the ground is a picture.
void HeatmapCanvas::paintMarks(QPainter& painter, const Theme& colors) const
{
    if (m_marks.size() != m_figure.plane.values.size() || m_marks.empty()) {
        return;
    }
    if (!m_placement.steps.empty()) {
        painter.setBrush(Qt::NoBrush);
        painter.setPen(QPen(colors[Role::Accent], 2));
        for (int x = 0; x < m_figure.plane.width && x < static_cast<int>(m_placement.steps.size()); ++x) {
            if (isMarkedAt(m_marks, m_figure.plane, x, 0)) {
                painter.drawRect(m_placement.steps[static_cast<std::size_t>(x)].adjusted(1, 1, -1, -1));
            }
        }
        return;
    }
    const QList<QLineF> lines = markedEdges(m_marks, m_figure.plane, m_placement.picture.topLeft(), m_placement.pixel);
    painter.setPen(QPen(Theme::of(ThemeKind::Light)[Role::Base], 3));
    painter.drawLines(lines);
    painter.setPen(QPen(Theme::of(ThemeKind::Light)[Role::Accent], 1.5, Qt::DashLine));
    painter.drawLines(lines);
}

void HeatmapCanvas::setCamera(const HeatmapCamera& camera)
{
    m_camera = camera;
    place();
}

void HeatmapCanvas::place()
{
    const double margin = fonts::px(kMargin);
    m_placement =
        placeFigure(m_figure, m_camera, QRectF(rect()).adjusted(margin, 1, -margin, -2), !m_chart.features.empty());
    if (!m_placement.steps.empty() && m_chart.relevance.size() == m_placement.steps.size()) {
        const double top = m_placement.picture.bottom() + fonts::px(kChartGap);
        const double side = fonts::px(kStripMargin);
        m_placement.chart =
            layoutChart(m_chart, QRectF(QPointF(m_placement.room.left() + side, top),
                                        QPointF(m_placement.room.right() - side, m_placement.room.bottom())));
        if (!m_placement.chart.isEmpty()) { // the bar makes room for the chart
            const double height = std::min(m_placement.room.height(), static_cast<double>(fonts::px(kChartBar)));
            const QPointF corner(m_placement.room.right() + kGap, m_placement.room.top());
            m_placement.bar = layoutColorBar(m_figure.bar, QRectF(corner, QSizeF(colorBarWidth(m_figure.bar), height)));
        }
    }
    update();
}

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
    paintOutlines(painter);
    paintMarks(painter, colors);
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
    if (m_chart.features.empty()) {
        paintSteps(painter, m_figure.strip, m_placement.steps, colors);
    } else {
        paintFeatures(painter, m_figure.strip, m_chart.features, m_placement.steps, colors);
    }
    paintMarks(painter, colors);
    const auto step = static_cast<std::size_t>(std::max(0, m_probed.x()));
    if (hasFocus() && m_probed.x() >= 0 && step < m_placement.steps.size()) {
        painter.setBrush(Qt::NoBrush);
        painter.setPen(QPen(colors[Role::Accent], 2));
        painter.drawRoundedRect(m_placement.steps[step].adjusted(1, 1, -1, -1), 3, 3);
    }
    painter.restore();
    if (!m_placement.chart.isEmpty()) {
        paintChart(painter, m_chart, m_placement.chart, colors);
        paintChartMarks(painter, colors);
    }
    paintColorBar(painter, m_figure.bar, m_placement.bar, colors);
}

/// The column under the pointer, and those that are marked.
void HeatmapCanvas::paintChartMarks(QPainter& painter, const Theme& colors) const
{
    const StepsChartLayout& chart = m_placement.chart;
    painter.setBrush(Qt::NoBrush);
    painter.setPen(QPen(colors[Role::Accent], 1.5));
    const bool isMarked = m_marks.size() == chart.count;
    for (std::size_t step = 0; step < chart.count; ++step) {
        if (isMarked && m_marks[step] != 0) {
            painter.drawRect(chart.column(step, chart.steps).adjusted(1, 0, -1, -1));
        }
    }
    if (m_probed.x() >= 0 && static_cast<std::size_t>(m_probed.x()) < chart.count) {
        const QRectF column = chart.column(static_cast<std::size_t>(m_probed.x()), chart.steps);
        painter.setPen(QPen(colors[Role::Accent], 1));
        painter.drawLine(column.topLeft(), column.bottomLeft());
        painter.drawLine(column.topRight(), column.bottomRight());
    }
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
    if (m_strokeFrom) {
        strokeTo(clampedValueAt(event->position()));
        return;
    }
    if (isOnWipe(event->position())) {
        setCursor(Qt::SplitHCursor);
    } else if (m_tool != MarkTool::None) {
        setCursor(Qt::CrossCursor);
    } else {
        unsetCursor();
    }
    m_isClick = m_isClick && (event->position() - m_pressedAt).manhattanLength() < kClickReach;
    if (m_isClick) {
        return; // a hand that shakes does not move the picture
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
    m_pressedAt = event->position();
    const std::optional<QPoint> value = m_placement.valueAt(event->position());
    if (!m_isWiping && m_tool != MarkTool::None && event->button() == Qt::LeftButton && value) {
        return beginStroke(*value, event->modifiers().testFlag(Qt::ShiftModifier));
    }
    m_isClick = !m_isWiping && event->button() == Qt::LeftButton && value.has_value();
    if (!m_isWiping && (event->button() == Qt::LeftButton || event->button() == Qt::MiddleButton)) {
        m_dragFrom = event->position();
    }
}

void HeatmapCanvas::mouseReleaseEvent(QMouseEvent* event)
{
    m_strokeFrom.reset();
    toggleStep(std::exchange(m_clickedStep, -1));
    if (std::exchange(m_isClick, false)) {
        if (const auto value = m_placement.valueAt(event->position())) {
            emit picked(*value);
        }
    }
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
    case Qt::Key_Return:
    case Qt::Key_Enter:
        if (m_probed.x() >= 0 && m_tool == MarkTool::None) {
            emit picked(m_probed);
        } else if (m_probed.x() >= 0) {
            beginStroke(m_probed, event->modifiers().testFlag(Qt::ShiftModifier));
            m_strokeFrom.reset();
            toggleStep(std::exchange(m_clickedStep, -1));
        }
        return;
    default:
        break;
    }
    const QPoint step = arrowStep(event->key());
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

#include "moc_heatmapcanvas.cpp"
