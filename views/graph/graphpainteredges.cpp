// SPDX-License-Identifier: Apache-2.0
#include "views/common/numbertext.h"
#include "views/common/paint/fonts.h"
#include "views/graph/graphedges.h"
#include "views/graph/graphpainter.h"

#include <QCoreApplication>
#include <QFontMetricsF>
#include <QPainter>

#include <algorithm>
#include <array>
#include <cmath>

namespace retro::views
{

namespace
{

constexpr double kFigureZoom = 0.7; // from this zoom on edges carry figures
constexpr double kPathWidth = 3.6;  // of a promise's path
constexpr double kHeadLength = 7.5; // of an arrow head
constexpr double kHeadHalf = 4.0;   // half its width beside a thin line

/// 9-5 dashes for a pen of some width.
QPen dashed(const QColor& color, double width, double unit)
{
    QPen pen(color, width);
    pen.setCapStyle(Qt::FlatCap);
    pen.setJoinStyle(Qt::RoundJoin);
    pen.setDashPattern({9 * unit / width, 5 * unit / width});
    return pen;
}

bool isVertical(const layout::Point& a, const layout::Point& b) { return a.x == b.x; }

bool isStraight(std::span<const layout::Point> points)
{
    return std::all_of(points.begin(), points.end(),
                       [&](const layout::Point& point) { return isVertical(point, points.front()); });
}

} // namespace

double GraphPainter::widthOf(float sum) const { return edgeWidthOf(static_cast<double>(sum), m_unit); }

QPointF GraphPainter::corner(layout::Point point) const { return edgeCorner(m_camera, point); }

void GraphPainter::appendEdge(QPainterPath& path, std::span<const layout::Point> points) const
{
    appendEdgePath(path, m_camera, points);
}

bool GraphPainter::isMarked(Index edge) const
{
    return m_picture.selectedValue.isValid() && m_picture.scene->carries(edge, m_picture.selectedValue);
}

bool GraphPainter::isOnPath(Index edge) const { return m_picture.path != nullptr && m_picture.path->covers(edge); }

void GraphPainter::paintEdges()
{
    if (m_picture.hasEmphasis()) {
        m_painter.setOpacity(kFaint);
        paintEdges(true);
        m_painter.setOpacity(1);
    }
    paintEdges(false);
}

void GraphPainter::paintEdges(bool isFaint)
{
    std::vector<Index> idle;
    std::vector<Index> others;
    for (const Index edge : m_edges) {
        if (!isOnPath(edge) && isFaintEdge(edge) == isFaint) {
            (std::isnan(relevance(edge)) && !isMarked(edge) ? idle : others).push_back(edge);
        }
    }
    paintIdleEdges(idle);
    for (const Index edge : others) {
        paintEdge(edge);
    }
}

/// Straight edges are sharp without smoothing and need no path.
void GraphPainter::paintIdleEdges(const std::vector<Index>& edges)
{
    QVector<QLineF> lines;
    QPainterPath curves;
    for (const Index edge : edges) {
        const auto points = layout().edge(edge);
        if (isStraight(points)) {
            lines.append(QLineF(corner(points.front()), corner(points.back())));
        } else {
            appendEdge(curves, points);
        }
    }
    m_painter.setBrush(Qt::NoBrush);
    m_painter.setPen(QPen(m_theme[Role::Ghost], 1));
    m_painter.setRenderHint(QPainter::Antialiasing, false);
    m_painter.drawLines(lines);
    m_painter.setRenderHint(QPainter::Antialiasing, true);
    m_painter.drawPath(curves);
}

// Relevance runs upwards: the head is where the edge leaves its producer.
void GraphPainter::paintEdge(Index edge)
{
    const float sum = relevance(edge);
    const bool hasPassed = !std::isnan(sum);
    const bool isChosen = isMarked(edge);
    const auto points = layout().edge(edge);
    QPen pen(isChosen ? m_theme[Role::Accent] : m_passed, hasPassed ? widthOf(sum) : 1.5);
    pen.setCapStyle(Qt::FlatCap);
    m_painter.setBrush(Qt::NoBrush);
    m_painter.setPen(pen);
    if (isStraight(points)) {
        m_painter.drawLine(corner(points.front()), corner(points.back()) + along(1));
    } else {
        QPainterPath path;
        appendEdge(path, points);
        m_painter.drawPath(path);
    }
    if (hasPassed) {
        paintHead(tipOf(edge), pen.widthF(), m_theme[isChosen ? Role::Accent : Role::Ink]);
    }
}

/// Where the head of an edge ends: at its producer, below the second outline of a closed group.
QPointF GraphPainter::tipOf(Index edge) const
{
    const Index producer = m_picture.scene->visible.edges[static_cast<std::size_t>(edge)].from;
    return corner(layout().edge(edge).front()) + along(visible(producer).isGroup() ? outlineOffset() : 0);
}

void GraphPainter::paintHead(QPointF tip, double strokeWidth, const QColor& color)
{
    const double half = std::max(length(kHeadHalf), strokeWidth / 2 + length(2));
    const QPointF base = tip + along(std::max(length(kHeadLength), half * 1.4));
    const QPointF aside = m_camera.isTransposed() ? QPointF(0, half) : QPointF(half, 0);
    m_painter.setPen(Qt::NoPen);
    m_painter.setBrush(color);
    const std::array<QPointF, 3> points{tip + along(0.5), base + aside, base - aside};
    m_painter.drawConvexPolygon(points.data(), static_cast<int>(points.size()));
}

void GraphPainter::paintPath()
{
    if (m_picture.path == nullptr || m_picture.path->isEmpty()) {
        return;
    }
    const auto isThis = [this](const trace::SearchLine& searchLine) {
        return searchLine.promise == m_picture.path->promise;
    };
    if (m_picture.motion != nullptr && std::ranges::any_of(m_picture.motion->searchLines, isThis)) {
        return; // its search is among what moves
    }
    m_painter.setRenderHint(QPainter::Antialiasing, true);
    const double width = std::max(2.0, length(kPathWidth));
    for (const PathPiece& piece : m_picture.path->pieces) {
        QPainterPath way;
        paintPiece(piece, way);
        m_painter.setBrush(Qt::NoBrush);
        m_painter.setPen(dashed(m_theme[Role::SearchLine], width, std::max(0.4, m_unit)));
        m_painter.drawPath(way.toReversed());
        if (piece.isLast && m_tier == layout::DetailTier::Full) {
            const QPointF end = QPointF(way.elementAt(0)) + along(1);
            paintHead(piece.edge != layout::kNone ? tipOf(piece.edge) : end, width, m_theme[Role::SearchLine]);
        }
    }
}

void GraphPainter::paintPiece(const PathPiece& piece, QPainterPath& way)
{
    if (piece.edge != layout::kNone) {
        appendEdge(way, layout().edge(piece.edge));
        return;
    }
    const layout::Rect& producer = layout().nodes[static_cast<std::size_t>(piece.producer)];
    const layout::Rect& consumer = layout().nodes[static_cast<std::size_t>(piece.consumer)];
    way.moveTo(m_camera.toScreen(layout::Point{producer.center().x, producer.bottom()}));
    way.lineTo(m_camera.toScreen(layout::Point{consumer.center().x, consumer.y}));
}

void GraphPainter::paintFigures()
{
    if (m_camera.zoom() < kFigureZoom) {
        return;
    }
    const std::vector<layout::Index> taken = edgesWithPulses();
    for (const Index edge : m_edges) {
        if (!std::isnan(relevance(edge)) && !isFaintEdge(edge) && std::ranges::find(taken, edge) == taken.end()) {
            paintFigure(edge);
        }
    }
}

/// Edges to whose end a pulse runs, or where one rests: it has the figure.
std::vector<layout::Index> GraphPainter::edgesWithPulses() const
{
    std::vector<layout::Index> edges;
    if (m_picture.motion == nullptr) {
        return edges;
    }
    const GraphScene& scene = *m_picture.scene;
    for (const trace::Pulse& pulse : m_picture.motion->pulses) {
        if (pulse.way.size() > 1) {
            const Index from = scene.boxOf(pulse.way[pulse.way.size() - 2]);
            const Index to = scene.boxOf(pulse.way.back());
            if (from != layout::kNone && to != layout::kNone && from != to) {
                edges.push_back(scene.edgeBetween(to, from));
            }
        }
    }
    return edges;
}

/// The relevance of an edge as a figure beside its upper end, where nothing else is.
void GraphPainter::paintFigure(Index edge)
{
    const auto points = layout().edge(edge);
    const QString text = valueText(relevance(edge), 3);
    if (m_camera.isTransposed()) {
        const double half = QFontMetricsF(m_figureFont).horizontalAdvance(text) / 2;
        const double above = widthOf(relevance(edge)) / 2 + length(11);
        const QPointF middle = (corner(points.front()) + corner(points.back())) / 2;
        const QPointF tip = points.size() > 2 ? corner(points.front()) + along(half + length(10)) : middle;
        for (const double away : {-above, above}) {
            const QPointF center = tip + QPointF(0, away);
            const layout::Rect area =
                m_camera.toScene(QRectF(center.x() - half - 2, center.y() - length(6), 2 * half + 4, length(12)));
            if (!bendsThrough(edge, area) && isFree(area, edge)) {
                m_placed.push_back(area);
                paintChip(center, text, m_theme[Role::Text2], crossesFrame(area));
                return;
            }
        }
        return;
    }
    const double scale = fonts::scale();
    const double width = QFontMetricsF(m_figureFont).horizontalAdvance(text) / m_camera.zoom();
    const double away = widthOf(relevance(edge)) / 2 / m_camera.zoom() + 7 * scale;
    const double height = 12 * scale;
    const double y = points.front().y + 3 * scale; // in the middle of the least gap of two layers
    for (const double x : {points.front().x + away, points.front().x - away - width}) {
        const layout::Rect area{x - 2 * scale, y, width + 4 * scale, height};
        if (!bendsThrough(edge, area) && isFree(area, edge)) {
            m_placed.push_back(area);
            paintChip(m_camera.toScreen(area.center()), text, m_theme[Role::Text2], crossesFrame(area));
            return;
        }
    }
}

bool GraphPainter::isFree(const layout::Rect& area, Index edge)
{
    const auto isInTheWay = [&](const layout::Rect& other) { return other.intersects(area); };
    if (std::any_of(m_placed.begin(), m_placed.end(), isInTheWay)) {
        return false;
    }
    m_scratch.clear();
    layout().nodesIn(area, m_scratch);
    if (!m_scratch.empty()) {
        return false;
    }
    layout().edgesIn(area, m_scratch);
    return std::all_of(m_scratch.begin(), m_scratch.end(), [&](Index other) { return other == edge; });
}

/// True when a slanted piece of an edge may run through an area.
bool GraphPainter::bendsThrough(Index edge, const layout::Rect& area) const
{
    const auto points = layout().edge(edge);
    for (std::size_t i = 1; i < points.size(); ++i) {
        const layout::Point& a = points[i - 1];
        const layout::Point& b = points[i];
        const layout::Rect box{std::min(a.x, b.x), std::min(a.y, b.y), std::abs(a.x - b.x), std::abs(a.y - b.y)};
        if (!isVertical(a, b) && box.intersects(area)) {
            return true;
        }
    }
    return false;
}

/// True when the outline of a frame runs through an area.
bool GraphPainter::crossesFrame(const layout::Rect& area) const
{
    return std::any_of(m_frames.begin(), m_frames.end(), [&](Index frame) {
        const layout::Rect& rect = layout().groups[static_cast<std::size_t>(frame)];
        return rect.intersects(area) && !rect.contains(area);
    });
}

/// A short text, on a piece of ground where something lies below it.
void GraphPainter::paintChip(QPointF center, const QString& text, const QColor& color, bool hasGround)
{
    const double width = QFontMetricsF(m_figureFont).horizontalAdvance(text);
    if (hasGround) {
        const QRectF chip(center.x() - width / 2 - length(3), center.y() - length(7), width + length(6), length(14));
        m_painter.setRenderHint(QPainter::Antialiasing, true);
        m_painter.setPen(Qt::NoPen);
        m_painter.setBrush(m_theme[Role::Base]);
        m_painter.drawRoundedRect(chip, length(2), length(2));
    }
    m_painter.setFont(m_figureFont);
    m_painter.setPen(color);
    m_painter.drawText(QPointF(center.x() - width / 2, center.y() + m_figureDrop), text);
}

/// What the selected promise holds, beside the longest piece of its path.
void GraphPainter::paintHeld()
{
    const PromisePath* path = m_picture.path;
    if (path == nullptr || path->isEmpty() || !path->held) {
        return;
    }
    const PathPiece& piece = path->pieces.front();
    QPainterPath way;
    paintPiece(piece, way);
    const QString text = QCoreApplication::translate("retro::views::GraphView", "%1 held by P%2")
                             .arg(valueText(*path->held, 3))
                             .arg(path->promise.value);
    const double width = QFontMetricsF(m_figureFont).horizontalAdvance(text);
    paintChip(way.pointAtPercent(0.5) + QPointF(-width / 2 - length(10), 0), text, m_theme[Role::SearchText], true);
}

} // namespace retro::views
