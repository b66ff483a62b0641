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

/// 1 … kWidths.
std::size_t wholePixels(double width)
{
    return static_cast<std::size_t>(std::clamp(std::round(width), 1.0, static_cast<double>(kWidths)));
}

/// x and y exchanged.
QRectF turnedRect(const QRectF& rect) { return {rect.y(), rect.x(), rect.height(), rect.width()}; }

QRectF onPixels(const QRectF& rect) { return rect.adjusted(0.5, 0.5, -0.5, -0.5); }

/// Lines of one pen: those along an axis of the screen are sharp without smoothing.
struct LineSet
{
    QVector<QLineF> straight;
    QVector<QLineF> slanted;

    /// Such pieces shorter than `least` pixels are left out.
    void append(const QPointF& from, const QPointF& to, double least)
    {
        if (from.x() != to.x() && from.y() != to.y()) {
            slanted.append(QLineF(from, to));
        } else if (to.y() - from.y() + to.x() - from.x() >= least) {
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

void appendRow(ClassBars& bars, const ClassRow& row, double left, double right, double top)
{
    if (row.total == 0) {
        return;
    }
    const double width = std::max(right - left, kLeastRow);
    double x = (left + right - width) / 2;
    for (std::size_t which = 0; which < bars.size(); ++which) {
        const double part = width * row.counts[which] / row.total;
        if (part > 0) {
            bars[which].append(QRectF(x, top, part, 1));
        }
        x += part;
    }
}

void paintBars(QPainter& painter, const ClassBars& bars, const Colouring* colouring, const Theme& theme)
{
    painter.setRenderHint(QPainter::Antialiasing, false);
    painter.setPen(Qt::NoPen);
    for (std::size_t which = 0; which < bars.size(); ++which) {
        if (!bars[which].isEmpty()) {
            painter.setBrush(classColor(colouring, which, theme));
            painter.drawRects(bars[which]);
        }
    }
}

void GraphPainter::paintDensity(const QRectF& exposed)
{
    ClassBars bars;
    const bool isTurned = m_camera.isTransposed(); // then rows are columns of the screen
    const QRectF pixels = isTurned ? turnedRect(exposed) : exposed;
    const QRectF rows(pixels.left(), std::floor(pixels.top()), pixels.width(), std::ceil(pixels.height()) + 1);
    const auto place = [&](double x) {
        const QPointF at = m_camera.toScreen(layout::Point{x, 0});
        return isTurned ? at.y() : at.x();
    };
    double top = rows.top();
    for (const ClassRow& row :
         classRows(*m_picture.scene, *m_picture.status, m_picture.colouring,
                   m_camera.toScene(isTurned ? turnedRect(rows) : rows), static_cast<int>(rows.height()))) {
        appendRow(bars, row, place(row.left), place(row.right), top);
        top += 1;
    }
    if (isTurned) {
        for (QVector<QRectF>& each : bars) {
            std::ranges::transform(each, each.begin(), turnedRect);
        }
    }
    m_painter.setOpacity(m_picture.hasEmphasis() ? kFaint : 1);
    paintBars(m_painter, bars, m_picture.colouring, m_theme);
    m_painter.setOpacity(1);
    if (m_picture.hasEmphasis()) {
        const auto toPixels = [this](const layout::Rect& rect) { return m_camera.toScreen(rect); };
        paintBars(m_painter, emphasisedBars(m_picture, toPixels), m_picture.colouring, m_theme);
    }
}

/// Calls `append(from, to)` for every piece of an edge, in pixels.
template <class Append>
void GraphPainter::appendPieces(Index edge, Append append) const
{
    const auto points = layout().edge(edge);
    for (std::size_t i = 1; i < points.size(); ++i) {
        append(corner(points[i - 1]), corner(points[i]));
    }
}

void GraphPainter::paintFlatEdges()
{
    LineSet idle;
    LineSet faint;
    std::array<LineSet, kWidths> passed;
    const bool isSmooth = m_tier == layout::DetailTier::Boxes;
    const double least = isSmooth ? 0 : kLeastPiece;
    for (const Index edge : m_edges) {
        if (isOnPath(edge)) {
            continue;
        }
        const float sum = relevance(edge);
        LineSet& line = std::isnan(sum) ? idle : passed[wholePixels(widthOf(sum)) - 1];
        LineSet& lines = isFaintEdge(edge) ? faint : line;
        appendPieces(edge, [&](const QPointF& from, const QPointF& to) { lines.append(from, to, least); });
    }
    faint.draw(m_painter, m_theme[Role::Line], 1, isSmooth);
    idle.draw(m_painter, m_theme[isSmooth ? Role::Ghost : Role::Line], 1, isSmooth);
    for (std::size_t i = 0; i < passed.size(); ++i) {
        passed[i].draw(m_painter, m_passed, static_cast<double>(i + 1), isSmooth);
    }
}

void GraphPainter::paintFlatBoxes()
{
    ClassBars faint;
    ClassBars boxes;
    for (const Index box : m_boxes) {
        (m_picture.isFaint(box) ? faint : boxes)[m_picture.classOf(box)].append(pixelsOf(box));
    }
    m_painter.setOpacity(kFaint);
    paintBars(m_painter, faint, m_picture.colouring, m_theme);
    m_painter.setOpacity(1);
    paintBars(m_painter, boxes, m_picture.colouring, m_theme);
}

/// Rectangles of boxes with borders, ready to be drawn in one call each.
struct GraphPainter::SmallBoxes
{
    ClassBars boxes;
    QVector<QRectF> seconds; // outlines of closed groups
    QVector<QRectF> inner;   // of double borders
    QVector<QRectF> leaks;
};

void GraphPainter::appendSmall(Index box, SmallBoxes& out) const
{
    const QRectF rect = pixelsOf(box);
    const BoxStatus& state = status(box);
    const bool isDouble = m_picture.colouring == nullptr && state.mode == event::Mode::Fulfilment &&
                          m_tier == layout::DetailTier::Boxes && rect.height() >= kLeastInner; // else the letter tells
    out.boxes[m_picture.classOf(box)].append(onPixels(rect));
    if (visible(box).isGroup()) {
        out.seconds.append(onPixels(rect.translated(outlineOffset(), outlineOffset())));
    }
    if (isDouble) {
        out.inner.append(onPixels(rect.adjusted(2, 2, -2, -2)));
    }
    if (state.isLeaking) {
        out.leaks.append(QRectF(rect.left(), rect.top(), kLeakWidth, rect.height()));
    }
}

/// Boxes with the borders of their modes, one call per mode.
void GraphPainter::paintSmallBoxes()
{
    SmallBoxes faint;
    SmallBoxes small;
    for (const Index box : m_boxes) {
        appendSmall(box, m_picture.isFaint(box) ? faint : small);
    }
    m_painter.setOpacity(kFaint);
    paintSmall(faint);
    m_painter.setOpacity(1);
    paintSmall(small);
}

void GraphPainter::paintSmall(const SmallBoxes& small)
{
    const auto draw = [&](const QVector<QRectF>& rects, const QPen& pen, const QBrush& brush) {
        m_painter.setPen(pen);
        m_painter.setBrush(brush);
        m_painter.drawRects(rects);
    };
    m_painter.setRenderHint(QPainter::Antialiasing, false);
    draw(small.seconds, QPen(m_theme[Role::Ghost], 1), m_theme[Role::Base]);
    for (std::size_t which = 0; which < small.boxes.size(); ++which) {
        if (small.boxes[which].isEmpty()) {
            continue;
        }
        QPen pen(classColor(m_picture.colouring, which, m_theme), 1);
        if (m_picture.colouring == nullptr && static_cast<event::Mode>(which) == event::Mode::Search) {
            pen.setDashPattern({3, 2});
        }
        draw(small.boxes[which], pen, classTint(m_picture.colouring, which, m_theme));
    }
    draw(small.inner, QPen(m_theme[Role::FulfilLine], 1), Qt::NoBrush);
    draw(small.leaks, Qt::NoPen, m_theme[Role::AlarmLine]);
}

} // namespace retro::views
