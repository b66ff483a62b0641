// SPDX-License-Identifier: Apache-2.0
#include "views/graph/graphpainter.h"

#include "views/common/paint/fonts.h"
#include "views/graph/graphwalk.h"

#include <QFontMetricsF>
#include <QPainter>

#include <cmath>

namespace retro::views
{

namespace
{

constexpr double kReach = 12; // pixels that rings, heads and second outlines stand out of a box
constexpr double kPointsPerInch = 72;
constexpr double kPassedInk = 0.55; // share of ink in the line of a passed edge: arrow heads and text stay darker

QColor mixed(const QColor& a, const QColor& b, double share)
{
    const auto channel = [&](int x, int y) { return static_cast<int>(std::lround(x * share + y * (1 - share))); };
    return {channel(a.red(), b.red()), channel(a.green(), b.green()), channel(a.blue(), b.blue())};
}

constexpr double kLeastWords = 10; // design pixels, on cards
constexpr double kLeastCard = 44;  // pixels: narrower cards are strips without text

layout::DetailTier tierOf(const GraphPicture& picture, const GraphCamera& camera)
{
    const layout::DetailTier tier = layout::detailTier(camera.zoom());
    if (!picture.scene->style.hasCards) {
        return tier;
    }
    const bool isReadable = picture.scene->book->metrics.card * camera.zoom() >= kLeastCard;
    return isReadable ? layout::DetailTier::Full : std::min(tier, layout::DetailTier::Boxes);
}

/// Offset of the base line from the middle of capital letters.
double dropOf(const QFont& font) { return QFontMetricsF(font).capHeight() / 2; }

} // namespace

GraphPainter::GraphPainter(QPainter& painter, const GraphPicture& picture, const GraphCamera& camera,
                           const Theme& theme)
    : m_painter(painter), m_picture(picture), m_camera(camera), m_theme(theme), m_tier(tierOf(picture, camera)),
      m_unit(camera.zoom() * fonts::scale()), m_passed(mixed(theme[Role::Ink], theme[Role::Base], kPassedInk))
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

/// In the size of the drawing. Words on cards stay readable while there are cards; they are cut rather than tiny.
QFont GraphPainter::zoomed(QFont font) const
{
    const double least = hasCards() ? std::min<double>(fonts::px(kLeastWords), font.pixelSize()) : 0;
    const double size = std::max(font.pixelSize() * m_camera.zoom(), least);
    if (size != font.pixelSize()) {
        font.setPointSizeF(size * kPointsPerInch / m_painter.device()->logicalDpiY());
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
        if (m_picture.isOnlyEmphasis) {
            keepEmphasis();
        } else {
            m_frames = framesIn(area);
            if (!m_picture.isGroundApart) {
                std::ranges::for_each(m_frames, [this](Index frame) { paintFrame(frame); });
            }
        }
        m_tier == layout::DetailTier::Full ? paintWithText() : paintWithoutText();
    }
    paintRings();
    m_painter.restore();
}

void GraphPainter::paintGround(const QRectF& exposed)
{
    if (m_tier == layout::DetailTier::Density || m_picture.isOnlyEmphasis) {
        return;
    }
    m_painter.save();
    for (const Index frame : framesIn(m_camera.toScene(exposed.adjusted(-kReach, -kReach, kReach, kReach)))) {
        paintFrame(frame);
    }
    m_painter.restore();
}

void GraphPainter::keepEmphasis()
{
    std::erase_if(m_boxes, [this](Index box) { return m_picture.isFaint(box); });
    std::erase_if(m_edges, [this](Index edge) { return isFaintEdge(edge); });
}

void GraphPainter::paintWithText()
{
    paintEdges();
    paintPath();
    paintTitles();
    hasCards() ? paintCards() : paintBoxes();
    paintFigures();
    paintHeld();
}

void GraphPainter::paintWithoutText()
{
    paintFlatEdges();
    paintPath();
    m_tier == layout::DetailTier::Lines ? paintFlatBoxes() : paintSmallBoxes();
}

std::vector<layout::Index> GraphPainter::framesIn(const layout::Rect& area) const
{
    std::vector<Index> frames;
    for (Index frame = 0; frame < static_cast<Index>(layout().groups.size()); ++frame) {
        const layout::Rect& rect = layout().groups[static_cast<std::size_t>(frame)];
        if (rect.width > 0 && rect.intersects(area)) {
            frames.push_back(frame);
        }
    }
    return frames;
}

void GraphPainter::paintFrame(Index frame)
{
    m_painter.setRenderHint(QPainter::Antialiasing, true);
    const QRectF exact = m_camera.toScreen(layout().groups[static_cast<std::size_t>(frame)]);
    m_painter.setPen(QPen(m_theme[Role::Line], 1));
    m_painter.setBrush(m_theme[Role::Group]);
    m_painter.drawRoundedRect(QRectF(std::floor(exact.x()) + 0.5, std::floor(exact.y()) + 0.5,
                                     std::round(exact.width()), std::round(exact.height())),
                              length(4), length(4));
}

void GraphPainter::paintTitles()
{
    for (const Index frame : m_frames) {
        paintTitle(frame);
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
    if (const Index repeats = scene.book->drawn.groupRepeats[static_cast<std::size_t>(group)]; repeats > 1) {
        title += QStringLiteral("  ×%1").arg(repeats);
    }
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

void GraphPainter::paintHovered()
{
    if (m_picture.hovered == layout::kNone) {
        return;
    }
    m_painter.setRenderHint(QPainter::Antialiasing, true);
    m_painter.setPen(QPen(m_theme[Role::Strong], 1));
    m_painter.setBrush(Qt::NoBrush);
    m_painter.drawRoundedRect(pixelsOf(m_picture.hovered).adjusted(-1.5, -1.5, 1.5, 1.5), 4, 4);
}

void GraphPainter::paintRings()
{
    const bool isSmall = m_tier == layout::DetailTier::Lines || m_tier == layout::DetailTier::Density;
    if (!isSmall) {
        paintHovered();
    }
    if (m_picture.alsoSelected != nullptr) {
        std::ranges::for_each(*m_picture.alsoSelected, [this](Index box) { paintRing(box, 1.5, 2.5); });
    }
    const Index now = m_picture.motion == nullptr ? m_picture.status->now : layout::kNone; // it moves
    if (m_picture.selected != layout::kNone && m_picture.selected != now) {
        paintRing(m_picture.selected, 1.5, 2.5);
    }
    if (now != layout::kNone) {
        paintRing(now, m_picture.selected == now ? 4 : 3, isSmall ? 2 : 3);
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
