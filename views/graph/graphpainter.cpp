// SPDX-License-Identifier: Apache-2.0
#include "views/graph/graphpainter.h"

#include "views/common/fonts.h"
#include "views/graph/graphwalk.h"

#include <QFontMetricsF>
#include <QPaintDevice>
#include <QPainter>
#include <QVector>

#include <algorithm>
#include <array>
#include <cmath>

namespace retro::views
{

namespace
{

constexpr double kReach = 12; // pixels that rings, heads and second outlines stand out of a box
constexpr double kPointsPerInch = 72;
constexpr double kPassedInk = 0.55; // share of ink in the line of a passed edge: arrow heads and text stay darker
constexpr double kLeastRow = 5;     // width of the thinnest row of a picture without boxes
constexpr std::size_t kModeCount = 4;

QColor mixed(const QColor& a, const QColor& b, double share)
{
    const auto channel = [&](int x, int y) { return static_cast<int>(std::lround(x * share + y * (1 - share))); };
    return {channel(a.red(), b.red()), channel(a.green(), b.green()), channel(a.blue(), b.blue())};
}

/// Colour of a box that is too small for a border.
QColor flatColor(const Theme& theme, event::Mode mode)
{
    return mode == event::Mode::None ? theme[Role::Ghost] : theme.mode(mode).line;
}

/// Offset of the base line from the middle of capital letters.
double dropOf(const QFont& font) { return QFontMetricsF(font).capHeight() / 2; }

} // namespace

GraphPainter::GraphPainter(QPainter& painter, const GraphPicture& picture, const GraphCamera& camera,
                           const Theme& theme)
    : m_painter(painter), m_picture(picture), m_camera(camera), m_theme(theme),
      m_tier(layout::detailTier(camera.zoom())), m_unit(camera.zoom() * fonts::scale()),
      m_passed(mixed(theme[Role::Ink], theme[Role::Base], kPassedInk))
{
    if (m_tier != layout::DetailTier::Full) {
        return;
    }
    m_nameFont = zoomed(fonts::content(QFont::Medium));
    m_letterFont = zoomed(fonts::label(QFont::DemiBold));
    m_wordFont = zoomed(fonts::label());
    m_figureFont = zoomed(fonts::smallNumbers());
    m_nameDrop = dropOf(m_nameFont);
    m_wordDrop = dropOf(m_wordFont);
    m_figureDrop = dropOf(m_figureFont);
}

QFont GraphPainter::zoomed(QFont font) const
{
    if (m_camera.zoom() != 1.0) {
        font.setPointSizeF(font.pixelSize() * m_camera.zoom() * kPointsPerInch / m_painter.device()->logicalDpiY());
    }
    return font;
}

QRectF GraphPainter::pixelsOf(Index box) const
{
    const QRectF exact = m_camera.toScreen(layout().nodes[static_cast<std::size_t>(box)]);
    return {std::round(exact.x()), std::round(exact.y()), std::max(1.0, std::round(exact.width())),
            std::max(1.0, std::round(exact.height()))};
}

void GraphPainter::paint(const QRectF& exposed)
{
    m_painter.save();
    if (m_tier == layout::DetailTier::Density) {
        paintDensity(exposed);
    } else {
        const layout::Rect area = m_camera.toScene(exposed.adjusted(-kReach, -kReach, kReach, kReach));
        layout().nodesIn(area, m_boxes);
        layout().edgesIn(area, m_edges);
        paintFrames(area);
        if (m_tier == layout::DetailTier::Lines) {
            paintFlatEdges();
            paintPath();
            paintFlatBoxes();
        } else {
            paintEdges();
            paintPath();
            paintTitles();
            paintBoxes();
            paintFigures();
            paintHeld();
        }
    }
    paintRings();
    m_painter.restore();
}

// One row of pixels at a time: as wide as the layers there, cut into the modes by their number.
void GraphPainter::paintDensity(const QRectF& exposed)
{
    std::array<QVector<QRectF>, kModeCount> bars;
    const QRectF rows(exposed.left(), std::floor(exposed.top()), exposed.width(), std::ceil(exposed.height()) + 1);
    const auto table = layout::densityRows(layout(), m_camera.toScene(rows), static_cast<int>(rows.height()));
    for (std::size_t i = 0; i < table.size(); ++i) {
        const layout::DensityRow& row = table[i];
        if (row.nodeCount == 0) {
            continue;
        }
        std::array<int, kModeCount> counts{};
        for (Index l = row.firstLayer; l < row.lastLayer; ++l) {
            for (const Index box : layout().nodesOf(layout().layers[static_cast<std::size_t>(l)])) {
                ++counts[static_cast<std::size_t>(status(box).mode)];
            }
        }
        const double left = m_camera.toScreen(layout::Point{row.left, 0}).x();
        const double right = m_camera.toScreen(layout::Point{row.right, 0}).x();
        const double width = std::max(right - left, kLeastRow);
        double x = (left + right - width) / 2;
        for (std::size_t mode = 0; mode < kModeCount; ++mode) {
            const double part = width * counts[mode] / row.nodeCount;
            bars[mode].append(QRectF(x, rows.top() + static_cast<double>(i), part, 1));
            x += part;
        }
    }
    m_painter.setPen(Qt::NoPen);
    for (std::size_t mode = 0; mode < kModeCount; ++mode) {
        m_painter.setBrush(flatColor(m_theme, static_cast<event::Mode>(mode)));
        m_painter.drawRects(bars[mode]);
    }
}

void GraphPainter::paintFlatEdges()
{
    QVector<QLineF> idle;
    QVector<QLineF> passed;
    for (const Index edge : m_edges) {
        QVector<QLineF>& lines = std::isnan(relevance(edge)) ? idle : passed;
        const auto points = layout().edge(edge);
        for (std::size_t i = 1; i < points.size(); ++i) {
            lines.append(QLineF(m_camera.toScreen(points[i - 1]), m_camera.toScreen(points[i])));
        }
    }
    m_painter.setRenderHint(QPainter::Antialiasing, false);
    m_painter.setPen(QPen(m_theme[Role::Line], 1));
    m_painter.drawLines(idle);
    m_painter.setPen(QPen(m_passed, 1));
    m_painter.drawLines(passed);
}

void GraphPainter::paintFlatBoxes()
{
    std::array<QVector<QRectF>, kModeCount> boxes;
    for (const Index box : m_boxes) {
        boxes[static_cast<std::size_t>(status(box).mode)].append(pixelsOf(box));
    }
    m_painter.setRenderHint(QPainter::Antialiasing, false);
    m_painter.setPen(Qt::NoPen);
    for (std::size_t mode = 0; mode < kModeCount; ++mode) {
        m_painter.setBrush(flatColor(m_theme, static_cast<event::Mode>(mode)));
        m_painter.drawRects(boxes[mode]);
    }
}

void GraphPainter::paintFrames(const layout::Rect& area)
{
    m_painter.setRenderHint(QPainter::Antialiasing, true);
    for (Index frame = 0; frame < static_cast<Index>(layout().groups.size()); ++frame) {
        const layout::Rect& rect = layout().groups[static_cast<std::size_t>(frame)];
        if (rect.width <= 0 || !rect.intersects(area)) {
            continue;
        }
        m_frames.push_back(frame);
        const QRectF exact = m_camera.toScreen(rect);
        m_painter.setPen(QPen(m_theme[Role::Line], 1));
        m_painter.setBrush(m_theme[Role::Group]);
        m_painter.drawRoundedRect(QRectF(std::floor(exact.x()) + 0.5, std::floor(exact.y()) + 0.5,
                                         std::round(exact.width()), std::round(exact.height())),
                                  length(4), length(4));
    }
}

void GraphPainter::paintTitles()
{
    if (m_tier == layout::DetailTier::Full) {
        for (const Index frame : m_frames) {
            paintTitle(frame);
        }
    }
}

/// Name of an open group and the number of its nodes. An edge that crosses the name is interrupted there; the number
/// gives way.
void GraphPainter::paintTitle(Index frame)
{
    const GraphScene& scene = *m_picture.scene;
    const Index group = scene.visible.frames[static_cast<std::size_t>(frame)];
    const std::string_view name = scene.book->drawn.groupName(group);
    const layout::Rect strip = titleOf(scene, frame);
    const QRectF rect = m_camera.toScreen(strip);
    const double middle = rect.center().y() + length(1);
    const double left = rect.left() + length(8);
    const double room = rect.width() - length(16);
    QFont bold = m_nameFont;
    bold.setWeight(QFont::DemiBold);
    const QFontMetricsF metrics(bold);
    QString title = QStringLiteral("▾ ") + QString::fromUtf8(name.data(), static_cast<qsizetype>(name.size()));
    if (metrics.horizontalAdvance(title) > room) {
        title = metrics.elidedText(title, Qt::ElideMiddle, room);
    }
    const double width = metrics.horizontalAdvance(title);
    const QRectF ground(left - length(2), middle - length(8), width + length(4), length(16));
    if (!isFree(m_camera.toScene(ground), layout::kNone)) {
        m_painter.fillRect(ground, m_theme[Role::Group]);
    }
    m_painter.setFont(bold);
    m_painter.setPen(m_theme[Role::Text]);
    m_painter.drawText(QPointF(left, middle + m_nameDrop), title);
    const QString count = QString::fromStdString(countOfNodes(scene.book->groupParts[static_cast<std::size_t>(group)]));
    const QRectF place(left + width + length(10), middle - length(8),
                       QFontMetricsF(m_wordFont).horizontalAdvance(count), length(16));
    if (place.right() <= rect.right() - length(8) && isFree(m_camera.toScene(place), layout::kNone)) {
        m_painter.setFont(m_wordFont);
        m_painter.setPen(m_theme[Role::Text2]);
        m_painter.drawText(QPointF(place.left(), middle + m_nameDrop), count);
    }
}

void GraphPainter::paintRings()
{
    const bool isSmall = m_tier == layout::DetailTier::Lines || m_tier == layout::DetailTier::Density;
    if (m_picture.hovered != layout::kNone && !isSmall) {
        m_painter.setRenderHint(QPainter::Antialiasing, true);
        m_painter.setPen(QPen(m_theme[Role::Strong], 1));
        m_painter.setBrush(Qt::NoBrush);
        m_painter.drawRoundedRect(pixelsOf(m_picture.hovered).adjusted(-1.5, -1.5, 1.5, 1.5), 4, 4);
    }
    if (m_picture.selected != layout::kNone && m_picture.selected != m_picture.status->now) {
        paintRing(m_picture.selected, 1.5, 2.5);
    }
    if (m_picture.status->now != layout::kNone) {
        paintRing(m_picture.status->now, m_picture.selected == m_picture.status->now ? 4 : 3, isSmall ? 2 : 3);
    }
}

/// `distance`: from the box to the middle of the ring.
void GraphPainter::paintRing(Index box, double width, double distance)
{
    QRectF rect = pixelsOf(box);
    const double least = 6; // so that it can be seen from afar
    rect = rect.adjusted(-std::max(0.0, least - rect.width()) / 2, -std::max(0.0, least - rect.height()) / 2,
                         std::max(0.0, least - rect.width()) / 2, std::max(0.0, least - rect.height()) / 2);
    const double scale = m_tier == layout::DetailTier::Full ? std::clamp(m_camera.zoom(), 0.6, 1.0) : 0.6;
    const double away = distance * scale;
    m_painter.setRenderHint(QPainter::Antialiasing, true);
    m_painter.setPen(QPen(m_theme[Role::Accent], width * scale));
    m_painter.setBrush(Qt::NoBrush);
    m_painter.drawRoundedRect(rect.adjusted(-away, -away, away, away), 3 + away, 3 + away);
}

} // namespace retro::views
