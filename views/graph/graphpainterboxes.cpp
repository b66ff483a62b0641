// SPDX-License-Identifier: Apache-2.0
#include "views/common/paint/fonts.h"
#include "views/common/paint/marks.h"
#include "views/graph/graphpainter.h"

#include <QFontMetricsF>
#include <QPainter>

#include <algorithm>
#include <cmath>

namespace retro::views
{

namespace
{

constexpr double kShortDetail = 36; // least room for a shortened text at the right end
constexpr double kBreakRadius = 5;
constexpr double kBreakBelow = 16; // the top of a card
constexpr double kPennantHeight = 10;
constexpr double kClassStrip = 5;      // at the left end of a box that is coloured by class
constexpr double kSecondOutline = 4;   // offset of a closed group's second outline
constexpr std::size_t kMostBadges = 2; // then a count of the others
constexpr double kFineZoom = 0.55;     // from this zoom on round corners can be seen and shapes can be read

base::NodeId idOf(const layout::VisibleNode& node) { return base::NodeId(static_cast<std::uint32_t>(node.node)); }

} // namespace

/// A mark at the right end of a box.
struct GraphPainter::Badge
{
    enum class Kind { Leak, Waits, Parts, Fulfilled, Frontier, More };
    Kind kind = Kind::More;
    QString text;
};

void GraphPainter::paintBoxes()
{
    const bool isFine = m_camera.zoom() >= kFineZoom;
    if (!isFine) {
        paintSmallBoxes();
    }
    for (const Index box : m_boxes) {
        const QRectF rect = pixelsOf(box);
        m_painter.setOpacity(m_picture.isFaint(box) ? kFaint : 1);
        if (isFine) {
            paintBox(box, rect);
        }
        paintBoxTexts(box, rect, paintBadges(box, rect));
        paintMarksAt(box, rect);
    }
    m_painter.setOpacity(1);
}

/// What the present state says of the box beside its badges.
void GraphPainter::paintMarksAt(Index box, const QRectF& rect)
{
    const auto isMarked = [box](const std::vector<bool>* marks) {
        return marks != nullptr && (*marks)[static_cast<std::size_t>(box)];
    };
    if (isMarked(m_picture.breaks)) {
        paintBreakpoint(rect);
    }
    if (isMarked(m_picture.checkpoints)) {
        paintCheckpoint(rect);
    }
    if (isMarked(m_picture.live)) {
        paintLive(rect);
    }
}

double GraphPainter::outlineOffset() const { return std::max(2.0, std::round(length(kSecondOutline))); }

void GraphPainter::paintBox(Index box, const QRectF& rect)
{
    const event::Mode mode = status(box).mode;
    const double radius = std::min(3.0, length(4));
    if (hasSecondOutline(box)) {
        const double offset = outlineOffset();
        m_painter.setRenderHint(QPainter::Antialiasing, true);
        m_painter.setBrush(m_theme[Role::Base]);
        m_painter.setPen(QPen(m_theme[Role::Ghost], 1));
        m_painter.drawRoundedRect(rect.translated(offset, offset).adjusted(0.5, 0.5, -0.5, -0.5), radius, radius);
    }
    if (m_picture.colouring != nullptr) {
        paintClassBox(box, rect, radius);
    } else {
        paintModeBox(m_painter, rect, mode, m_theme, radius);
    }
    if (status(box).isLeaking) {
        paintLeak(rect);
    }
}

/// Ground and border in the main class of the box; the strip at its left end is cut into the classes of its nodes.
void GraphPainter::paintClassBox(Index box, const QRectF& rect, double radius)
{
    const ClassCounts& counts = m_picture.colouring->boxes[static_cast<std::size_t>(box)];
    const std::size_t main = mainClass(counts);
    const QColor line = classColor(m_picture.colouring, main, m_theme);
    const bool isPlain = line == m_theme[Role::Base];
    m_painter.setRenderHint(QPainter::Antialiasing, true);
    m_painter.setPen(QPen(isPlain ? m_theme[Role::Ghost] : line, 1.2));
    m_painter.setBrush(classTint(m_picture.colouring, main, m_theme));
    m_painter.drawRoundedRect(rect.adjusted(0.6, 0.6, -0.6, -0.6), radius, radius);
    const double total = std::max<Index>(1, visible(box).memberCount);
    double top = rect.top() + 1;
    for (std::size_t which = 0; which < counts.size(); ++which) {
        const double height = (rect.height() - 2) * counts[which] / total;
        m_painter.fillRect(QRectF(rect.left() + 1, top, length(kClassStrip), height),
                           classColor(m_picture.colouring, which, m_theme));
        top += height;
    }
}

BoxText& GraphPainter::textOf(Index box)
{
    BoxText& text = (*m_picture.texts)[static_cast<std::size_t>(box)];
    if (!text.name.isNull()) {
        return text;
    }
    const GraphScene& scene = *m_picture.scene;
    const layout::VisibleNode& node = visible(box);
    const Colouring* colouring = m_picture.colouring;
    text.name = QString::fromUtf8(
        node.isGroup() ? scene.book->drawn.groupName(node.group)
                       : (hasCards() ? cardName(*scene.book, idOf(node)) : nameInGroup(*scene.book, idOf(node))));
    text.detail = colouring != nullptr ? classText(*colouring, scene, box) : plainDetail(node);
    text.isFigure = colouring != nullptr ? !colouring->shares.empty() : !node.isGroup();
    if (text.detail.isEmpty() && node.isGroup()) {
        text.detail = plainDetail(node);
        text.isFigure = false;
    }
    text.detailWidth = fonts::widthOf(text.isFigure ? fonts::smallNumbers() : fonts::label(), text.detail);
    text.nameWidth = fonts::widthOf(fonts::content(QFont::Medium), text.name);
    return text;
}

/// By mode: the shape of a node, what a group holds, or which part of it this is.
QString GraphPainter::plainDetail(const layout::VisibleNode& node) const
{
    const GraphScene& scene = *m_picture.scene;
    if (!node.isGroup()) {
        return QString::fromStdString(shortShape(scene.graph(), *scene.book->run, idOf(node)));
    }
    return node.partCount > 1 ? QStringLiteral("%1 / %2").arg(node.part + 1).arg(node.partCount)
                              : QString::fromStdString(groupDetail(*scene.book, node.group, node.memberCount));
}

/// Letter, sign and name from the left, shape from the right, where it does not cost the name.
void GraphPainter::paintBoxTexts(Index box, const QRectF& rect, double right)
{
    const BoxText& text = textOf(box);
    const double zoom = m_camera.zoom();
    const double left = paintSigns(box, rect);
    const double gap = length(8);
    const double detail = detailWidthIn(text, right - left - text.nameWidth * zoom - gap);
    const double room = (detail > 0 ? right - detail - gap : right) - left;
    const double slack = length(2); // rounding of glyph positions at odd zooms
    m_painter.setFont(m_nameFont);
    m_painter.setPen(m_theme[Role::Text]);
    m_painter.drawText(QPointF(left, rect.center().y() + m_nameDrop),
                       text.nameWidth * zoom <= room + slack
                           ? text.name
                           : QFontMetricsF(m_nameFont).elidedText(text.name, Qt::ElideMiddle, room + slack));
    if (detail > 0) {
        paintDetail(text, QPointF(right - detail, rect.center().y()), detail);
    }
}

/// How wide the text at the right end may be, in pixels: all of it where there is room, less when it tells the class of
/// the box, else nothing.
double GraphPainter::detailWidthIn(const BoxText& text, double room) const
{
    const double whole = text.detailWidth * m_camera.zoom();
    if (m_camera.zoom() < kFineZoom || whole <= 0) {
        return 0;
    }
    const bool mayBeShort = m_picture.colouring != nullptr && room >= length(kShortDetail);
    return whole <= room ? whole : mayBeShort ? room : 0;
}

/// `place`: left end, half way up.
void GraphPainter::paintDetail(const BoxText& text, QPointF place, double width)
{
    const QFont& font = text.isFigure ? m_figureFont : m_wordFont;
    m_painter.setFont(font);
    m_painter.setPen(m_theme[m_picture.colouring != nullptr ? Role::Text2 : Role::Text3]);
    m_painter.drawText(place + QPointF(0, text.isFigure ? m_figureDrop : m_wordDrop),
                       width >= text.detailWidth * m_camera.zoom()
                           ? text.detail
                           : QFontMetricsF(font).elidedText(text.detail, Qt::ElideMiddle, width));
}

/// The letter of the mode (or the number of the class) and the ▸ of a group; returns where the name begins.
double GraphPainter::paintSigns(Index box, const QRectF& rect)
{
    const double middle = rect.center().y();
    const QString sign = signOf(box);
    if (!sign.isEmpty()) {
        m_painter.setFont(m_letterFont);
        m_painter.setPen(m_picture.colouring != nullptr ? m_theme[Role::Text2] : m_theme.mode(status(box).mode).text);
        m_painter.drawText(QPointF(rect.left() + length(10), middle + m_wordDrop), sign);
    }
    if (visible(box).isGroup()) {
        m_painter.setFont(m_nameFont);
        m_painter.setPen(m_theme[Role::Text]);
        m_painter.drawText(QPointF(rect.left() + length(26), middle + m_nameDrop), QStringLiteral("▸"));
        return rect.left() + length(38);
    }
    return rect.left() + length(sign.isEmpty() ? 10 : 26);
}

/// What stands at the left end of a box beside its colour: the letter of its mode, or the number of its class.
QString GraphPainter::signOf(Index box) const
{
    return m_picture.colouring != nullptr ? classSign(m_picture.colouring->by, m_picture.classOf(box))
                                          : letterOf(status(box).mode);
}

std::vector<GraphPainter::Badge> GraphPainter::badgesOf(const BoxStatus& status)
{
    std::vector<Badge> all;
    if (status.isLeaking) {
        all.push_back({Badge::Kind::Leak, {}});
    }
    if (status.waiting > 0) {
        all.push_back({Badge::Kind::Waits, status.waiting > 1 ? QString::number(status.waiting) : QString()});
    }
    if (status.parts > 0) {
        all.push_back({Badge::Kind::Parts, QStringLiteral("%1 / %2").arg(status.landed).arg(status.parts)});
    }
    if (status.isFulfilled) {
        all.push_back({Badge::Kind::Fulfilled, {}});
    }
    if (status.isInFrontier && status.parts == 0) {
        all.push_back({Badge::Kind::Frontier, {}});
    }
    if (all.size() > kMostBadges) {
        const std::size_t rest = all.size() - kMostBadges;
        all.resize(kMostBadges);
        all.push_back({Badge::Kind::More, QStringLiteral("+%1").arg(rest)});
    }
    return all;
}

double GraphPainter::badgeWidth(const Badge& badge) const
{
    const double textWidth = badge.text.isEmpty() ? 0 : QFontMetricsF(m_figureFont).horizontalAdvance(badge.text);
    if (badge.kind == Badge::Kind::Frontier) {
        return length(12);
    }
    const bool hasSymbol = badge.kind != Badge::Kind::Parts && badge.kind != Badge::Kind::More;
    const double symbol = hasSymbol ? length(16) : length(4);
    return symbol + (textWidth > 0 ? textWidth + length(hasSymbol ? 3 : 4) : 0);
}

std::vector<GraphPainter::Badge> GraphPainter::badgesAt(Index box) const
{
    const BoxStatus& state = status(box);
    // A group has no part counter: its members would add up to a figure that means nothing.
    BoxStatus shown = state;
    if (visible(box).isGroup()) {
        shown.parts = 0;
    }
    std::vector<Badge> badges = badgesOf(shown);
    if (hasCards() && badges.size() > 1) { // a card has room for one, and its name goes first
        const auto parts = std::ranges::find(badges, Badge::Kind::Parts, &Badge::kind);
        const bool isLeaking = badges.front().kind == Badge::Kind::Leak;
        badges = {isLeaking || parts == badges.end() ? badges.front() : *parts};
    }
    for (Badge& badge : badges) {
        badge.text = hasCards() ? badge.text.remove(QLatin1Char(' ')) : badge.text;
    }
    return badges;
}

double GraphPainter::badgesWidth(Index box) const
{
    double width = 0;
    for (const Badge& badge : badgesAt(box)) {
        width += std::round(badgeWidth(badge)) + length(3);
    }
    return width;
}

double GraphPainter::paintBadges(Index box, const QRectF& rect)
{
    const std::vector<Badge> badges = badgesAt(box);
    double right = rect.right() - length(badges.empty() ? 10 : 6);
    const double height = std::round(length(16));
    for (auto badge = badges.rbegin(); badge != badges.rend(); ++badge) {
        const double width = std::round(badgeWidth(*badge));
        const double left = std::round(right - width);
        paintBadge(*badge, {left, std::round(rect.center().y() - height / 2), width, height});
        right = left - length(3);
    }
    return badges.empty() ? right : right - length(4);
}

void GraphPainter::paintBadge(const Badge& badge, const QRectF& rect)
{
    const double radius = length(4.3);
    QColor line = m_theme[Role::Strong];
    QColor ink = m_theme[Role::Text];
    if (badge.kind == Badge::Kind::Waits) {
        line = m_theme[Role::SearchLine];
        ink = m_theme[Role::SearchText];
    } else if (badge.kind == Badge::Kind::Fulfilled) {
        line = m_theme[Role::FulfilLine];
        ink = m_theme[Role::FulfilText];
    } else if (badge.kind == Badge::Kind::Leak) {
        line = m_theme[Role::AlarmLine];
        ink = m_theme[Role::AlarmText];
    }
    if (badge.kind == Badge::Kind::Frontier) {
        paintTriangle(m_painter, rect.center(), length(5), m_theme[Role::Accent]);
        return;
    }
    m_painter.setRenderHint(QPainter::Antialiasing, true);
    m_painter.setPen(QPen(line, 1));
    m_painter.setBrush(m_theme[Role::Base]);
    m_painter.drawRoundedRect(rect.adjusted(0.5, 0.5, -0.5, -0.5), length(3), length(3));
    const QPointF symbol(rect.left() + length(8), rect.center().y());
    double textLeft = rect.left() + length(4);
    if (badge.kind == Badge::Kind::Waits || badge.kind == Badge::Kind::Fulfilled) {
        paintDiamond(m_painter, symbol, radius, ink, badge.kind == Badge::Kind::Fulfilled);
        textLeft = rect.left() + length(15);
    } else if (badge.kind == Badge::Kind::Leak) {
        paintCross(m_painter, symbol, length(3.2), ink);
    }
    if (!badge.text.isEmpty()) {
        m_painter.setFont(m_figureFont);
        m_painter.setPen(ink);
        m_painter.drawText(QPointF(textLeft, rect.center().y() + m_figureDrop), badge.text);
    }
}

/// A filled dot on the left border; of a card near its top, as promises and edges end at its middle.
void GraphPainter::paintBreakpoint(const QRectF& rect)
{
    const double radius = std::max(3.0, length(kBreakRadius));
    m_painter.setRenderHint(QPainter::Antialiasing, true);
    m_painter.setPen(QPen(m_theme[Role::Base], 1));
    m_painter.setBrush(m_theme[Role::AlarmLine]);
    const double below = hasCards() ? std::min(rect.height() / 2, length(kBreakBelow)) : rect.height() / 2;
    m_painter.drawEllipse(QPointF(rect.left(), rect.top() + below), radius, radius);
}

/// A pennant that stands on the left end of the upper border.
void GraphPainter::paintCheckpoint(const QRectF& rect)
{
    const double height = std::max(6.0, length(kPennantHeight));
    const QPointF foot(rect.left() + std::max(4.0, length(kPennantHeight) / 2), rect.top());
    const QPointF top = foot - QPointF(0, height);
    m_painter.setRenderHint(QPainter::Antialiasing, true);
    m_painter.setPen(QPen(m_theme[Role::Accent], 1.2));
    m_painter.drawLine(foot, top);
    m_painter.setBrush(m_theme[Role::Accent]);
    m_painter.drawPolygon(QPolygonF{top, top + QPointF(height * 0.8, height * 0.3), top + QPointF(0, height * 0.6)});
}

/// A bar under the box: what it made is in memory at the step of the plan.
void GraphPainter::paintLive(const QRectF& rect)
{
    const double height = std::max(2.0, length(3));
    m_painter.fillRect(QRectF(rect.left(), rect.bottom() + height * 0.4, rect.width(), height),
                       m_theme[Role::FulfilLine]);
}

/// Hatched strip at the left end; the lines are cut by hand, since files of drawings know no clipping everywhere.
void GraphPainter::paintLeak(const QRectF& rect)
{
    const double border = std::min(2.0, length(2));
    const QRectF strip(rect.left() + border, rect.top() + 2, length(5), rect.height() - 4);
    m_painter.setRenderHint(QPainter::Antialiasing, true);
    m_painter.setPen(QPen(m_theme[Role::AlarmLine], 1.2));
    const double pitch = std::max(3.0, length(4));
    for (double start = strip.bottom() + strip.width(); start > strip.top(); start -= pitch) {
        // From the left edge at y = start up to the right; both ends are cut to the strip.
        const double low = std::min(start, strip.bottom());
        const double high = std::max(start - strip.width(), strip.top());
        if (low > high) {
            m_painter.drawLine(QPointF(strip.left() + (start - low), low),
                               QPointF(strip.left() + (start - high), high));
        }
    }
}

} // namespace retro::views
