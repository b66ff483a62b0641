// SPDX-License-Identifier: Apache-2.0
#include "views/graph/graphpainter.h"

#include <QPainter>

#include <algorithm>
#include <cmath>

namespace retro::views
{

namespace
{

constexpr double kLeastRow = 5;     // width of the thinnest row of a picture without boxes
constexpr double kLeastInner = 7;   // height of a box that has room for a double border
constexpr double kLeastPiece = 1.5; // of an edge between two rectangles
constexpr double kLeakWidth = 3;    // of the mark of a box that is too small for hatching
constexpr std::size_t kWidths = 3;  // of edges, in whole pixels

QRectF onPixels(const QRectF& rect) { return rect.adjusted(0.5, 0.5, -0.5, -0.5); }

/// Lines of one pen: vertical ones are sharp without smoothing.
struct LineSet
{
    QVector<QLineF> straight;
    QVector<QLineF> slanted;

    /// Vertical pieces shorter than `least` pixels are left out.
    void append(const QPointF& from, const QPointF& to, double least)
    {
        if (from.x() != to.x()) {
            slanted.append(QLineF(from, to));
        } else if (to.y() - from.y() >= least) {
            straight.append(QLineF(from, to));
        }
    }
    void draw(QPainter& painter, const QColor& color, double width, bool isSmooth) const
    {
        QPen pen(color, width);
        pen.setCapStyle(Qt::FlatCap);
        painter.setPen(pen);
        painter.setRenderHint(QPainter::Antialiasing, false);
        painter.drawLines(straight);
        painter.setRenderHint(QPainter::Antialiasing, isSmooth);
        painter.drawLines(slanted);
    }
};

} // namespace

void appendRow(ModeBars& bars, const ModeRow& row, double left, double right, double top)
{
    if (row.total == 0) {
        return;
    }
    const double width = std::max(right - left, kLeastRow);
    double x = (left + right - width) / 2;
    for (std::size_t mode = 0; mode < bars.size(); ++mode) {
        const double part = width * row.counts[mode] / row.total;
        if (part > 0) {
            bars[mode].append(QRectF(x, top, part, 1));
        }
        x += part;
    }
}

void paintBars(QPainter& painter, const ModeBars& bars, const Theme& theme)
{
    painter.setRenderHint(QPainter::Antialiasing, false);
    painter.setPen(Qt::NoPen);
    for (std::size_t mode = 0; mode < bars.size(); ++mode) {
        painter.setBrush(theme.mode(static_cast<event::Mode>(mode)).line); // ghost when not visited
        painter.drawRects(bars[mode]);
    }
}

void GraphPainter::paintDensity(const QRectF& exposed)
{
    ModeBars bars;
    const QRectF rows(exposed.left(), std::floor(exposed.top()), exposed.width(), std::ceil(exposed.height()) + 1);
    double top = rows.top();
    for (const ModeRow& row :
         modeRows(*m_picture.scene, *m_picture.status, m_camera.toScene(rows), static_cast<int>(rows.height()))) {
        appendRow(bars, row, m_camera.toScreen(layout::Point{row.left, 0}).x(),
                  m_camera.toScreen(layout::Point{row.right, 0}).x(), top);
        top += 1;
    }
    paintBars(m_painter, bars, m_theme);
}

void GraphPainter::paintFlatEdges()
{
    LineSet idle;
    std::array<LineSet, kWidths> passed;
    const bool isSmooth = m_tier == layout::DetailTier::Boxes;
    const double least = isSmooth ? 0 : kLeastPiece;
    for (const Index edge : m_edges) {
        if (isOnPath(edge)) {
            continue;
        }
        const float sum = relevance(edge);
        const double width = std::isnan(sum) ? 1 : std::clamp(std::round(widthOf(sum)), 1.0, double(kWidths));
        LineSet& lines = std::isnan(sum) ? idle : passed[static_cast<std::size_t>(width) - 1];
        const auto points = layout().edge(edge);
        for (std::size_t i = 1; i < points.size(); ++i) {
            lines.append(corner(points[i - 1]), corner(points[i]), least);
        }
    }
    idle.draw(m_painter, m_theme[isSmooth ? Role::Ghost : Role::Line], 1, isSmooth);
    for (std::size_t i = 0; i < passed.size(); ++i) {
        passed[i].draw(m_painter, m_passed, static_cast<double>(i + 1), isSmooth);
    }
}

void GraphPainter::paintFlatBoxes()
{
    ModeBars boxes;
    for (const Index box : m_boxes) {
        boxes[static_cast<std::size_t>(status(box).mode)].append(pixelsOf(box));
    }
    paintBars(m_painter, boxes, m_theme);
}

/// Boxes with the borders of their modes, one call per mode.
void GraphPainter::paintSmallBoxes()
{
    ModeBars boxes;
    const bool isDouble = m_tier == layout::DetailTier::Boxes; // else the letter tells
    QVector<QRectF> seconds;
    QVector<QRectF> inner;
    QVector<QRectF> leaks;
    for (const Index box : m_boxes) {
        const QRectF rect = pixelsOf(box);
        const BoxStatus& state = status(box);
        boxes[static_cast<std::size_t>(state.mode)].append(onPixels(rect));
        if (visible(box).isGroup()) {
            seconds.append(onPixels(rect.translated(outlineOffset(), outlineOffset())));
        }
        if (isDouble && state.mode == event::Mode::Fulfilment && rect.height() >= kLeastInner) {
            inner.append(onPixels(rect.adjusted(2, 2, -2, -2)));
        }
        if (state.isLeaking) {
            leaks.append(QRectF(rect.left(), rect.top(), kLeakWidth, rect.height()));
        }
    }
    const auto draw = [&](const QVector<QRectF>& rects, const QPen& pen, const QBrush& brush) {
        m_painter.setPen(pen);
        m_painter.setBrush(brush);
        m_painter.drawRects(rects);
    };
    m_painter.setRenderHint(QPainter::Antialiasing, false);
    draw(seconds, QPen(m_theme[Role::Ghost], 1), m_theme[Role::Base]);
    for (std::size_t i = 0; i < boxes.size(); ++i) {
        const auto mode = static_cast<event::Mode>(i);
        QPen pen(m_theme.mode(mode).line, 1);
        if (mode == event::Mode::Search) {
            pen.setDashPattern({3, 2});
        }
        draw(boxes[i], pen, m_theme.mode(mode).tint);
    }
    draw(inner, QPen(m_theme[Role::FulfilLine], 1), Qt::NoBrush);
    draw(leaks, Qt::NoPen, m_theme[Role::AlarmLine]);
}

} // namespace retro::views
