// SPDX-License-Identifier: Apache-2.0
#include "views/graph/graphmotion.h"

#include "views/common/numbertext.h"
#include "views/common/paint/colormap.h"
#include "views/common/paint/fonts.h"
#include "views/common/paint/marks.h"

#include <QCoreApplication>
#include <QFontMetricsF>
#include <QLinearGradient>
#include <QPainter>

#include <algorithm>
#include <array>
#include <cmath>
#include <numbers>

namespace retro::views
{

using layout::Index;

namespace
{

constexpr double kDropLength = 28; // design pixels, from the tip to the head
constexpr double kDropExtra = 8;   // a pulse is that much thicker than its edge
constexpr double kTailLength = 44;
constexpr double kHeadRadius = 8; // of the disc around the head of a search
constexpr double kSearchLineWidth = 3;
constexpr double kSwing = 4; // of the line of a promise that was fulfilled
constexpr std::array kRings{9.0, 17.0};
constexpr double kBandFade = 110; // from the back of the frontier to where its band ends
constexpr double kBandOpacity = 0.24;
constexpr double kFigureZoomed = 0.55; // from this unit on pulses carry figures
constexpr std::size_t kMostFigures = 24;
constexpr std::size_t kMostSearchLines = 40;
constexpr double kReachOut = 60;      // pixels around the area that is painted
constexpr double kStrongValue = 0.85; // of the map of relevance, for the colours of signs
constexpr double kInto = 3;           // pixels that a track reaches into the cards at its ends

QString motionText(const char* text) { return QCoreApplication::translate("retro::views::GraphView", text); }

/// What cards, each from … to, leave free around a place between them.
std::pair<double, double> gapAround(const std::vector<std::pair<double, double>>& cards, double place)
{
    double low = -1e9;
    double high = 1e9;
    for (const auto& [from, to] : cards) {
        low = to <= place + kInto ? std::max(low, to) : low;
        high = from >= place - kInto ? std::min(high, from) : high;
    }
    return {low, high};
}

QRectF blend(const QRectF& a, const QRectF& b, double share)
{
    const auto mix = [share](double x, double y) { return x + (y - x) * share; };
    return {mix(a.x(), b.x()), mix(a.y(), b.y()), mix(a.width(), b.width()), mix(a.height(), b.height())};
}

QColor withAlpha(QColor color, double alpha)
{
    color.setAlphaF(static_cast<float>(std::clamp(alpha, 0.0, 1.0)));
    return color;
}

/// The colours of relevance: those of the map at a strong value.
QColor positiveColor()
{
    static const QColor color = ColorMap().at(kStrongValue);
    return color;
}
QColor negativeColor()
{
    static const QColor color = ColorMap().at(-kStrongValue);
    return color;
}

} // namespace

GraphHeat heatOf(const GraphScene& scene, const trace::Motion& motion, std::uint64_t from, std::uint64_t to)
{
    GraphHeat heat;
    heat.edges.assign(scene.visible.edges.size(), 0);
    heat.boxes.assign(scene.visible.nodes.size(), 0);
    for (const trace::Motion::Landing& landing : motion.landingsBetween(from, to)) {
        const Index box = scene.boxOf(landing.node);
        if (box == layout::kNone) {
            continue;
        }
        ++heat.boxes[static_cast<std::size_t>(box)];
        const Index sender = landing.from.isValid() ? scene.boxOf(landing.from) : layout::kNone;
        const Index edge = sender == layout::kNone || sender == box ? layout::kNone : scene.edgeBetween(box, sender);
        const double sum = motion.sumOf(landing);
        if (edge != layout::kNone && std::isfinite(sum)) {
            float& at = heat.edges[static_cast<std::size_t>(edge)];
            at += static_cast<float>(std::abs(sum));
            heat.most = std::max(heat.most, static_cast<double>(at));
        }
    }
    const trace::Run& run = *scene.book->run;
    if (to > from && run.visitCount() > 0) {
        heat.visits = run.visitOf(to - 1) - run.visitOf(from) + 1;
    }
    return heat;
}

MotionPainter::MotionPainter(QPainter& painter, const GraphPicture& picture, const GraphCamera& camera,
                             const Theme& theme, const MotionLook& look)
    : m_painter(painter), m_picture(picture), m_camera(camera), m_theme(theme), m_look(look),
      m_unit(std::clamp(camera.zoom() * fonts::scale(), 0.35, 1.5)), m_figureFont(fonts::smallNumbers())
{}

QRectF MotionPainter::rectOf(Index box) const
{
    return m_camera.toScreen(m_picture.scene->layout.nodes[static_cast<std::size_t>(box)]);
}

EdgeTrack MotionPainter::trackBetween(base::NodeId consumer, base::NodeId producer) const
{
    const GraphScene& scene = *m_picture.scene;
    const Index from = scene.boxOf(consumer);
    const Index to = scene.boxOf(producer);
    if (from == layout::kNone || to == layout::kNone || from == to) {
        return {};
    }
    QPainterPath path;
    if (const Index edge = scene.edgeBetween(to, from); edge != layout::kNone) {
        appendEdgePath(path, m_camera, scene.layout.edge(edge));
        return EdgeTrack(path).reversed();
    }
    const QRectF start = rectOf(from);
    const QRectF end = rectOf(to);
    const bool isTurned = m_camera.isTransposed();
    path.moveTo(isTurned ? QPointF(start.left(), start.center().y()) : QPointF(start.center().x(), start.top()));
    path.lineTo(isTurned ? QPointF(end.right(), end.center().y()) : QPointF(end.center().x(), end.bottom()));
    return EdgeTrack(path);
}

EdgeTrack MotionPainter::trackOf(std::span<const base::NodeId> nodes) const
{
    EdgeTrack track;
    for (std::size_t i = 1; i < nodes.size(); ++i) {
        track.append(trackBetween(nodes[i - 1], nodes[i]));
    }
    return track;
}

std::optional<QRectF> MotionPainter::extentOf(const std::vector<base::NodeId>& nodes) const
{
    std::optional<QRectF> extent;
    for (const base::NodeId node : nodes) {
        if (const Index box = m_picture.scene->boxOf(node); box != layout::kNone) {
            extent = extent ? extent->united(rectOf(box)) : rectOf(box);
        }
    }
    return extent;
}

/// A sharp front where the foremost relevance lies, and a soft back behind the last one.
void MotionPainter::paintBelow(const QRectF& area)
{
    const auto before = extentOf(frame().frontBefore);
    const auto after = extentOf(frame().frontAfter);
    if (!before && !after) {
        return;
    }
    const double share = trace::easedInOut(frame().fraction);
    const QRectF extent = before && after ? blend(*before, *after, share) : before ? *before : *after;
    const double strength = before && after ? 1 : before ? 1 - share : share;
    const bool isTurned = m_camera.isTransposed();
    const double margin = length(10);
    const double front = std::round((isTurned ? extent.left() : extent.top()) - margin);
    const double back = (isTurned ? extent.right() : extent.bottom()) + margin + length(kBandFade);
    const QRectF band = isTurned ? QRectF(front, area.top(), back - front, area.height())
                                 : QRectF(area.left(), front, area.width(), back - front);
    QLinearGradient fading(band.topLeft(), isTurned ? band.topRight() : band.bottomLeft());
    fading.setColorAt(0, withAlpha(m_theme[Role::Accent], kBandOpacity * strength));
    fading.setColorAt(1, withAlpha(m_theme[Role::Accent], 0));
    m_painter.setRenderHint(QPainter::Antialiasing, false);
    m_painter.fillRect(band.intersected(area), fading);
    const QColor line = withAlpha(m_theme[Role::Accent], strength);
    m_painter.fillRect(
        isTurned ? QRectF(front, area.top(), 2, area.height()) : QRectF(area.left(), front, area.width(), 2), line);
}

void MotionPainter::paintFrontierWords(const QRectF& area)
{
    const auto before = extentOf(frame().frontBefore);
    const auto after = extentOf(frame().frontAfter);
    if (m_look.frontier.isEmpty() || (!before && !after)) {
        return;
    }
    const QRectF extent = before && after ? blend(*before, *after, trace::easedInOut(frame().fraction))
                          : before        ? *before
                                          : *after;
    const bool isTurned = m_camera.isTransposed();
    const double front = std::round((isTurned ? extent.left() : extent.top()) - length(10));
    const QString word = motionText("frontier");
    const QFont bold = fonts::label(QFont::DemiBold);
    const double wordWidth = QFontMetricsF(bold).horizontalAdvance(word);
    const double width = wordWidth + QFontMetricsF(m_figureFont).horizontalAdvance(m_look.frontier) + fonts::px(32);
    const double height = fonts::px(20);
    double left = isTurned ? front : area.right() - width - fonts::px(8);
    left = std::clamp(left, area.left() + fonts::px(4), std::max(area.left(), area.right() - width - fonts::px(4)));
    const double top = isTurned ? area.bottom() - height - fonts::px(3) : front + fonts::px(4);
    const QRectF label(std::round(left) + 0.5, std::round(top) + 0.5, std::round(width), height);
    m_painter.setRenderHint(QPainter::Antialiasing, true);
    m_painter.setPen(QPen(m_theme[Role::Accent], 1.2));
    m_painter.setBrush(m_theme[Role::Base]);
    m_painter.drawRoundedRect(label, 3, 3);
    m_painter.setFont(bold);
    m_painter.setPen(m_theme[Role::Accent]);
    m_painter.drawText(label.adjusted(fonts::px(8), 0, 0, 0), Qt::AlignLeft | Qt::AlignVCenter, word);
    m_painter.setFont(m_figureFont);
    m_painter.setPen(m_theme[Role::Text]);
    m_painter.drawText(label.adjusted(0, 0, -fonts::px(8), 0), Qt::AlignRight | Qt::AlignVCenter, m_look.frontier);
}

void MotionPainter::paintAbove(const QRectF& area)
{
    m_area = area.adjusted(-kReachOut, -kReachOut, kReachOut, kReachOut);
    m_words.clear();
    m_painter.save();
    m_painter.setRenderHint(QPainter::Antialiasing, true);
    if (m_look.heat != nullptr) {
        paintHeat();
    }
    for (const trace::Fill& fill : frame().fills) {
        paintFill(fill);
    }
    for (const trace::Snap& snap : frame().snaps) {
        paintSnap(snap);
    }
    const std::size_t first =
        frame().searchLines.size() > kMostSearchLines ? frame().searchLines.size() - kMostSearchLines : 0;
    for (std::size_t i = first; i < frame().searchLines.size(); ++i) {
        paintSearchLine(frame().searchLines[i]);
    }
    for (const InsideSearch& inside : searchesInside(*m_picture.scene, frame().searchLines)) {
        paintSearchInside(inside);
    }
    const ShownPulses shown = shownPulses(*m_picture.scene, frame().pulses, isCrowded(area));
    for (const InsidePulse& inside : shown.inside) {
        paintInside(inside);
    }
    for (std::size_t i = 0; i < shown.between.size(); ++i) {
        paintPulse(shown.between[i], shown.counts[i]);
    }
    paintNow();
    paintWords();
    paintFrontierWords(area);
    m_painter.restore();
}

bool MotionPainter::isCrowded(const QRectF& area) const
{
    if (m_picture.scene->boxCount() <= kCrowdOfCards) {
        return false;
    }
    std::vector<Index> boxes;
    m_picture.scene->layout.nodesIn(m_camera.toScene(area), boxes);
    return static_cast<Index>(boxes.size()) > kCrowdOfCards;
}

QRectF MotionPainter::boxAround(QPointF center, const QString& text) const
{
    const double width = QFontMetricsF(m_figureFont).horizontalAdvance(text) + 6;
    return {center.x() - width / 2, center.y() - fonts::px(7), width, static_cast<double>(fonts::px(14))};
}

/// Where a point lies along the drawing, which runs downwards or sideways.
double MotionPainter::alongDrawing(QPointF point) const { return m_camera.isTransposed() ? point.x() : point.y(); }

/// The cards that touch an area, along the drawing: from … to.
std::vector<std::pair<double, double>> MotionPainter::cardsIn(const QRectF& around) const
{
    std::vector<Index> boxes;
    m_picture.scene->layout.nodesIn(m_camera.toScene(around), boxes);
    std::vector<std::pair<double, double>> cards;
    for (const Index each : boxes) {
        const QRectF card = rectOf(each);
        if (card.intersects(around)) {
            cards.emplace_back(alongDrawing(card.topLeft()), alongDrawing(card.bottomRight()));
        }
    }
    return cards;
}

/// Where words beside a track stand: moved along the drawing until they lie between the cards there, in the middle of a
/// gap that is too narrow for them. What is over a card has them in the gap that it came through.
QPointF MotionPainter::betweenCards(QPointF center, const QString& text, const EdgeTrack& track) const
{
    const bool isTurned = m_camera.isTransposed();
    const auto along = [this](QPointF point) { return alongDrawing(point); };
    const QRectF box = boxAround(center, text);
    const double start = along(track.at(0));
    const double end = along(track.at(track.length()));
    double wanted = std::clamp(along(center), std::min(start, end), std::max(start, end));
    const QRectF around = isTurned ? box.adjusted(-3 * box.width(), 0, 3 * box.width(), 0)
                                   : box.adjusted(0, -6 * box.height(), 0, 6 * box.height());
    const std::vector<std::pair<double, double>> cards = cardsIn(around);
    for (const auto& [from, to] : cards) {
        if (from + kInto < wanted && wanted < to - kInto) {
            wanted = start > wanted ? to : from;
        }
    }
    const auto [low, high] = gapAround(cards, wanted);
    const double half = (isTurned ? box.width() : box.height()) / 2;
    const double at = high - low < 2 * half ? (low + high) / 2 : std::clamp(along(center), low + half, high - half);
    return isTurned ? QPointF(at, center.y()) : QPointF(center.x(), at);
}

/// Words come over everything that is painted later; where others stand already, there are none.
void MotionPainter::addWords(QPointF center, const QString& text, const QColor& color)
{
    const QRectF box = boxAround(center, text);
    const bool isTaken = std::ranges::any_of(m_words, [&](const Words& other) { return other.box.intersects(box); });
    if (!isTaken && m_words.size() < kMostFigures && m_area.intersects(box)) {
        m_words.push_back({box, text, color, m_painter.opacity()});
    }
}

void MotionPainter::paintWords()
{
    const double drop = QFontMetricsF(m_figureFont).capHeight() / 2;
    m_painter.setFont(m_figureFont);
    for (const Words& words : m_words) {
        m_painter.setOpacity(words.opacity);
        m_painter.setPen(Qt::NoPen);
        m_painter.setBrush(m_theme[Role::Base]);
        m_painter.drawRoundedRect(words.box, 2, 2);
        m_painter.setPen(words.color);
        m_painter.drawText(QPointF(words.box.left() + 3, words.box.center().y() + drop), words.text);
    }
    m_painter.setOpacity(1);
}

void MotionPainter::paintPulse(const trace::Pulse& pulse, int count)
{
    const EdgeTrack track = trackOf(pulse.way);
    if (track.length() <= 0) {
        return;
    }
    const double height = edgeWidthOf(pulse.sum, m_unit) + length(kDropExtra) * 0.8;
    const double head = pulse.travelled * track.length() + pulse.entered * length(kDropLength);
    const double alpha = 1 - pulse.entered;
    if (!isInSight(QRectF(track.at(head), QSizeF(1, 1)))) {
        return;
    }
    m_painter.setOpacity(alpha);
    if (pulse.travelled < 1) { // behind it the edge is done
        QPen pen(m_theme[Role::Ink], edgeWidthOf(pulse.sum, m_unit));
        pen.setCapStyle(Qt::FlatCap);
        m_painter.setPen(pen);
        m_painter.setBrush(Qt::NoBrush);
        m_painter.drawPath(track.piece(0, std::max(0.0, head - length(kDropLength))));
    }
    if (m_look.speed == trace::SpeedClass::Each && pulse.travelled > 0 && pulse.travelled < 1) {
        paintTail(track, head, height, pulse.sum < 0 ? negativeColor() : positiveColor());
    }
    paintDrop(track, head, height, pulse);
    if (m_unit >= kFigureZoomed && m_look.speed != trace::SpeedClass::Visit) {
        addSum(pulse, count, track, track.at(std::max(0.0, head - length(kDropLength) / 2)), height);
    }
    m_painter.setOpacity(1);
}

/// The figure of a pulse, beside its drop, which is `height` thick.
void MotionPainter::addSum(const trace::Pulse& pulse, int count, const EdgeTrack& track, QPointF at, double height)
{
    const bool isAcross = m_camera.isTransposed();
    const QString sum = valueText(pulse.sum, 4);
    const QString text = count > 1 ? motionText("%1 in %2 parts").arg(sum).arg(count) : sum;
    const double aside = height / 2 + fonts::px(9);
    const double wide = QFontMetricsF(m_figureFont).horizontalAdvance(text) / 2 + height / 2 + fonts::px(4);
    const QPointF center = at + (isAcross ? QPointF(0, pulse.promise.isValid() ? aside : -aside) : QPointF(wide, 0));
    addWords(betweenCards(center, text, track), text, m_theme[Role::Text]);
}

void MotionPainter::paintTail(const EdgeTrack& track, double head, double height, const QColor& color)
{
    constexpr int kPieces = 6;
    const double end = std::max(0.0, head - length(kDropLength) * 0.8);
    const double start = std::max(0.0, end - length(kTailLength));
    for (int i = 0; i < kPieces; ++i) {
        QPen pen(withAlpha(color, 0.45 * (i + 1) / kPieces), height * 0.3 * (i + 1) / kPieces + 1);
        pen.setCapStyle(Qt::FlatCap);
        m_painter.setPen(pen);
        m_painter.drawPath(track.piece(start + (end - start) * i / kPieces, start + (end - start) * (i + 1) / kPieces));
    }
}

/// A drop, round head first: the upper part red for the positive elements, the lower blue for the negative ones.
void MotionPainter::paintDrop(const EdgeTrack& track, double head, double height, const trace::Pulse& pulse)
{
    const double inside = std::min(head, track.length());
    const QPointF tip = track.at(inside) + track.directionAt(inside) * std::max(0.0, head - track.length());
    const QPointF direction = track.directionAt(std::max(0.0, inside - length(kDropLength) / 3));
    const double long_ = length(kDropLength);
    const double half = height / 2;
    QPainterPath drop; // the head at the origin, the tail at the right
    drop.moveTo(long_, 0);
    drop.cubicTo(long_ * 0.6, -half * 0.35, long_ * 0.62, -half, long_ * 0.35, -half);
    drop.lineTo(half * 0.6, -half);
    drop.cubicTo(-half * 0.1, -half, -half * 0.1, half, half * 0.6, half);
    drop.lineTo(long_ * 0.35, half);
    drop.cubicTo(long_ * 0.62, half, long_ * 0.6, half * 0.35, long_, 0);
    m_painter.save();
    m_painter.translate(tip);
    m_painter.rotate(std::atan2(-direction.y(), -direction.x()) * 180 / std::numbers::pi);
    const bool isKnown = std::isfinite(pulse.positive);
    const double negative = isKnown ? std::max(0.0, pulse.positive - pulse.sum) : 0;
    const double total = isKnown ? pulse.positive + negative : 0;
    const double share = total > 0 ? pulse.positive / total : pulse.sum >= 0 ? 1 : 0;
    m_painter.setPen(Qt::NoPen);
    if (!isKnown) {
        m_painter.fillPath(drop, m_theme[Role::Strong]);
    } else {
        m_painter.fillPath(drop, positiveColor());
        if (share < 1) {
            QPainterPath lower;
            lower.addRect(QRectF(-half, -half + height * share, long_ + height, height));
            m_painter.fillPath(drop.intersected(lower), negativeColor());
        }
    }
    m_painter.setPen(QPen(m_theme[Role::Ink], 1.2));
    m_painter.setBrush(Qt::NoBrush);
    m_painter.drawPath(drop);
    m_painter.restore();
}

/// Relevance on its way between members of a closed group: a drop that runs along the strip of their visits, from the
/// visit that is on to the next.
void MotionPainter::paintInside(const InsidePulse& inside)
{
    const GraphScene& scene = *m_picture.scene;
    const QRectF card = rectOf(inside.box);
    const bool hasStrip = m_picture.cards != nullptr && m_picture.groupVisits != nullptr && isInSight(card) &&
                          scene.cardOf(inside.box) == CardKind::Group && card.width() >= length(kDropLength);
    const auto box = static_cast<std::size_t>(inside.box);
    if (!hasStrip || m_picture.groupVisits->boxes[box].empty()) {
        return;
    }
    const QRectF strip = groupStripRect(card, m_camera.zoom() * fonts::scale());
    const auto all = static_cast<double>(m_picture.groupVisits->boxes[box].size());
    const double visits = static_cast<double>((*m_picture.cards)[box].visits) - 0.5 + inside.pulse.travelled;
    const bool isTurned = m_camera.isTransposed();
    QPainterPath way(QPointF(isTurned ? strip.right() : strip.left(), strip.center().y()));
    way.lineTo(isTurned ? strip.left() : strip.right(), strip.center().y());
    const EdgeTrack track(way);
    const double height =
        std::min(edgeWidthOf(inside.pulse.sum, m_unit) + length(kDropExtra) * 0.8, strip.height() + length(4));
    m_painter.setOpacity(1 - inside.pulse.entered);
    paintDrop(track, std::clamp(visits / all, 0.0, 1.0) * track.length(), height, inside.pulse);
    m_painter.setOpacity(1);
}

/// Searches inside a closed group end at its border, as one mark with their number.
void MotionPainter::paintSearchInside(const InsideSearch& inside)
{
    const QRectF card = rectOf(inside.box);
    if (!isInSight(card)) {
        return;
    }
    const bool isTurned = m_camera.isTransposed();
    const QPointF at = isTurned ? QPointF(card.right(), card.center().y()) : QPointF(card.center().x(), card.top());
    paintHead(at, false, m_theme[Role::SearchLine]);
    if (m_unit >= kFigureZoomed) {
        addWords(at + (isTurned ? QPointF(0, fonts::px(17)) : QPointF(fonts::px(24), 0)),
                 QStringLiteral("◇ %1").arg(inside.count), m_theme[Role::SearchText]);
    }
}

void MotionPainter::paintHead(QPointF at, bool isFilled, const QColor& color)
{
    m_painter.setPen(Qt::NoPen);
    m_painter.setBrush(withAlpha(color, 0.25));
    m_painter.drawEllipse(at, length(kHeadRadius) + 3, length(kHeadRadius) + 3);
    m_painter.setBrush(m_theme[Role::Base]);
    m_painter.drawEllipse(at, length(kHeadRadius), length(kHeadRadius));
    paintDiamond(m_painter, at, length(5.5), color, isFilled);
    m_painter.setRenderHint(QPainter::Antialiasing, true);
}

/// A dashed line from the start of a promise along what its search crossed, with ◇ at its head.
void MotionPainter::paintSearchLine(const trace::SearchLine& searchLine)
{
    EdgeTrack track = trackOf(searchLine.nodes.first(searchLine.nodes.size() - 1));
    const double done = track.length();
    track.append(trackBetween(searchLine.nodes[searchLine.nodes.size() - 2], searchLine.nodes.back()));
    if (track.length() <= 0) {
        return;
    }
    const double head = done + (track.length() - done) * searchLine.head;
    const QColor color = m_theme[Role::SearchLine];
    const double width = length(kSearchLineWidth);
    QPen pen(color, width);
    pen.setCapStyle(Qt::FlatCap);
    pen.setDashPattern({9 * m_unit / width, 5 * m_unit / width}); // fixed on the line: they do not run
    m_painter.setBrush(Qt::NoBrush);
    m_painter.setPen(pen);
    m_painter.drawPath(track.piece(0, head));
    const bool isWordy = m_unit >= kFigureZoomed && m_look.speed == trace::SpeedClass::Each;
    if (isWordy && searchLine.branch == 0 && std::isfinite(searchLine.held)) {
        const Index start = m_picture.scene->boxOf(searchLine.nodes.front());
        const QRectF card = rectOf(start);
        const double aside = m_camera.isTransposed() ? fonts::px(18) : 0; // other search lines leave at the left
        addWords(QPointF(card.center().x() + aside, card.top() - fonts::px(12)),
                 motionText("%1 held by P%2").arg(valueText(searchLine.held, 4)).arg(searchLine.promise.value),
                 m_theme[Role::SearchText]);
    }
    if (searchLine.isFound || searchLine.answer > 0) { // the answer runs back along its chain
        paintHead(track.at(head * (1 - searchLine.answer)), true, m_theme[Role::FulfilLine]);
        return;
    }
    const QPointF at = track.at(head);
    if (isInsideGroup(*m_picture.scene, searchLine)) {
        return; // all that search in there have one mark at its border
    }
    paintHead(at, false, color);
    if (isWordy) { // in the gap that the head has come through, not over the card that it has reached
        const QString name = QStringLiteral("P%1.%2").arg(searchLine.promise.value).arg(searchLine.branch);
        const QPointF center = at + QPointF(m_camera.isTransposed() ? fonts::px(18) : 0, fonts::px(17));
        addWords(betweenCards(center, name, track), name, m_theme[Role::SearchText]);
    }
}

/// The dashed line goes; a double blue one stays, swings once and rests, then is thin for two more visits.
void MotionPainter::paintSnap(const trace::Snap& snap)
{
    const EdgeTrack track = trackOf(snap.nodes);
    if (track.length() <= 0) {
        return;
    }
    const bool isYoung = snap.swing < 1;
    const double swing = isYoung ? length(kSwing) * std::sin(3 * std::numbers::pi * snap.swing) * (1 - snap.swing) : 0;
    const QColor blue = m_theme[Role::FulfilLine];
    const double age = snap.age / trace::kSnapVisits;
    QPainterPath way = track.piece(0, track.length());
    way.translate(m_camera.isTransposed() ? QPointF(0, swing) : QPointF(swing, 0));
    m_painter.setBrush(Qt::NoBrush);
    const double width = length(age > 0.5 ? 2 : 5);
    m_painter.setPen(QPen(withAlpha(blue, 1 - 0.7 * age), width));
    m_painter.drawPath(way);
    if (age <= 0.5) {
        m_painter.setPen(QPen(m_theme[Role::Base], width * 0.4));
        m_painter.drawPath(way);
    }
    if (snap.fade < 1) {
        const double thin = length(kSearchLineWidth);
        QPen pen(withAlpha(m_theme[Role::SearchLine], 1 - snap.fade), thin);
        pen.setDashPattern({9 * m_unit / thin, 5 * m_unit / thin});
        m_painter.setPen(pen);
        m_painter.drawPath(track.piece(0, track.length()));
    }
    if (age <= 0.5) {
        paintDiamond(m_painter, track.at(track.length()), length(6), blue, true);
        m_painter.setRenderHint(QPainter::Antialiasing, true);
    }
    if (isYoung && snap.branch == 0 && m_look.speed == trace::SpeedClass::Each) {
        paintRings(snap);
    }
}

void MotionPainter::paintRings(const trace::Snap& snap)
{
    const Index box = m_picture.scene->boxOf(snap.nodes.front());
    if (box == layout::kNone) {
        return;
    }
    const QRectF card = rectOf(box);
    for (const double away : kRings) {
        const double out = length(away) * snap.swing;
        m_painter.setPen(QPen(withAlpha(m_theme[Role::FulfilLine], 1 - snap.swing), 2));
        m_painter.setBrush(Qt::NoBrush);
        m_painter.drawRoundedRect(card.adjusted(-out, -out, out, out), 4 + out, 4 + out);
    }
}

/// The picture of a card wipes in from the side where relevance came from, an accent line at its front.
void MotionPainter::paintFill(const trace::Fill& fill)
{
    const GraphScene& scene = *m_picture.scene;
    const Index box = scene.boxOf(fill.node);
    const bool isShown = box != layout::kNone && scene.style.hasCards && m_picture.pictures != nullptr &&
                         scene.cardOf(box) == CardKind::Card && isInSight(rectOf(box));
    if (!isShown || rectOf(box).width() < 44) {
        return;
    }
    const trace::Run& run = *scene.book->run;
    const auto known = std::ranges::find_if(
        run.events.begin() + static_cast<std::ptrdiff_t>(frame().step), run.events.end(),
        [&](const auto& event) { return event.kind == event::EventKind::Relevance && event.node == fill.node.value; });
    if (known == run.events.end()) {
        return;
    }
    const double unit = m_camera.zoom() * fonts::scale();
    const QRectF place = cardPictureRect(rectOf(box), unit);
    const base::HandleId handle(known->handle);
    const QImage* image =
        m_picture.pictures->canShow(handle) ? m_picture.pictures->picture(handle, pictureSide(unit)) : nullptr;
    const bool isTurned = m_camera.isTransposed();
    const QRectF wiped = isTurned ? QRectF(place.right() - place.width() * fill.share, place.top(),
                                           place.width() * fill.share, place.height())
                                  : QRectF(place.left(), place.bottom() - place.height() * fill.share, place.width(),
                                           place.height() * fill.share);
    m_painter.save();
    m_painter.setClipRect(wiped, Qt::IntersectClip);
    if (image != nullptr) {
        paintSmallPicture(m_painter, place, *image);
    } else {
        m_painter.fillRect(place, m_theme[Role::Alt]);
    }
    m_painter.restore();
    m_painter.fillRect(isTurned ? QRectF(wiped.left() - 1, place.top(), 2, place.height())
                                : QRectF(place.left(), wiped.top() - 1, place.width(), 2),
                       m_theme[Role::Accent]);
}

/// The ring runs along the edge to the next node when they are neighbours, else it fades over.
void MotionPainter::paintNow()
{
    const GraphScene& scene = *m_picture.scene;
    const Index now = scene.boxOf(frame().now);
    if (now == layout::kNone) {
        return;
    }
    const Index before = frame().before.isValid() ? scene.boxOf(frame().before) : layout::kNone;
    const bool isMoving = frame().arrived < 1 && before != layout::kNone && before != now;
    const bool areNeighbours = isMoving && (scene.edgeBetween(now, before) != layout::kNone ||
                                            scene.edgeBetween(before, now) != layout::kNone);
    const double away = 3.5;
    m_painter.setBrush(Qt::NoBrush);
    const auto ring = [&](const QRectF& rect, double opacity) {
        m_painter.setPen(QPen(withAlpha(m_theme[Role::Accent], opacity), 3));
        m_painter.drawRoundedRect(rect.adjusted(-away, -away, away, away), 6, 6);
    };
    if (areNeighbours) {
        ring(blend(rectOf(before), rectOf(now), frame().arrived), 1);
        return;
    }
    if (isMoving) {
        ring(rectOf(before), 1 - frame().arrived);
    }
    ring(rectOf(now), isMoving ? frame().arrived : 1);
}

void MotionPainter::paintHeat()
{
    const GraphScene& scene = *m_picture.scene;
    const GraphHeat& heat = *m_look.heat;
    for (std::size_t edge = 0; edge < heat.edges.size(); ++edge) {
        if (heat.edges[edge] <= 0) {
            continue;
        }
        QPainterPath path;
        appendEdgePath(path, m_camera, scene.layout.edge(static_cast<Index>(edge)));
        const double share = heat.most > 0 ? heat.edges[edge] / heat.most : 0;
        m_painter.setBrush(Qt::NoBrush);
        m_painter.setPen(QPen(withAlpha(m_theme[Role::Accent], 0.25 + 0.55 * std::sqrt(share)),
                              edgeWidthOf(heat.edges[edge], m_unit) + 4));
        m_painter.drawPath(path);
    }
    for (std::size_t box = 0; box < heat.boxes.size(); ++box) {
        if (heat.boxes[box] > 0) {
            const QRectF rect = rectOf(static_cast<Index>(box));
            if (isInSight(rect)) {
                m_painter.setPen(QPen(withAlpha(m_theme[Role::Accent], 0.6), 2));
                m_painter.setBrush(withAlpha(m_theme[Role::Accent], 0.1));
                m_painter.drawRoundedRect(rect, 3, 3);
            }
        }
    }
}

} // namespace retro::views
