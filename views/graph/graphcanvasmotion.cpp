// SPDX-License-Identifier: Apache-2.0
// The graph while it moves: a still picture that is kept, and over it what moves at a moment.
#include "views/common/paint/fonts.h"
#include "views/common/paint/motion.h"
#include "views/graph/graphcanvas.h"

#include <QFontMetricsF>
#include <QPainter>

#include <algorithm>
#include <cmath>
#include <numbers>

namespace retro::views
{

using layout::Index;
using layout::kNone;

namespace
{

constexpr double kFollowReach = 1.5; // visits before and behind the moment that the camera looks at
constexpr double kStopShare = 0.5;   // of the view: the largest way from one stop of the camera to the next
constexpr double kRests = 0.3;       // of the way between two stops, at both ends, in which the camera rests
constexpr double kGlow = 0.25;       // seconds of play that a frame of the class Sum stands for
constexpr double kMarginAround = 24; // pixels beside the drawing

/// Where the middle of a view of length `view` is for something at `wanted` on a track of length `track`; a function of
/// these alone, so that the camera is in the same place whichever way one came. Both ends of the track are stops.
double restingPlace(double wanted, double view, double track)
{
    if (track <= view) {
        return track / 2;
    }
    const double low = view / 2;
    const double high = track - view / 2;
    const double stop = (high - low) / std::ceil((high - low) / (view * kStopShare));
    const double at = (std::clamp(wanted, low, high) - low) / stop;
    const double whole = std::floor(at);
    const double moved = trace::easedInOut((at - whole - kRests) / (1 - 2 * kRests));
    return std::clamp(low + (whole + moved) * stop, low, high);
}

} // namespace

void GraphCanvas::renewStill()
{
    ++m_serial;
    update();
}

void GraphCanvas::setMotion(std::shared_ptr<const trace::Motion> motion)
{
    m_motion = std::move(motion);
    renewStill();
}

void GraphCanvas::setCards(std::vector<CardStatus> cards, std::uint64_t position, const QString& frontier)
{
    m_cards = std::move(cards);
    m_position = position;
    m_frontier = frontier;
    applyFollow();
    renewStill();
}

void GraphCanvas::setStripe(NodeStripe stripe)
{
    m_stripe = std::move(stripe);
    renewStill();
}

void GraphCanvas::setEnds(const QString& input, const QString& score)
{
    m_inputEnd = input;
    m_scoreEnd = score;
    update();
}

void GraphCanvas::setMoment(double moment)
{
    if (moment == m_moment) {
        return;
    }
    m_moment = moment;
    if (hasCards()) {
        applyFollow();
        update();
    }
}

void GraphCanvas::setSpeed(double visitsPerSecond)
{
    m_speed = visitsPerSecond;
    update();
}

/// The moment, as far as status and cards have followed it.
double GraphCanvas::shownMoment() const
{
    constexpr double kJustBefore = 0.999; // the next event is not applied yet
    const auto at = static_cast<double>(m_position);
    return std::clamp(m_moment, at, at + kJustBefore);
}

void GraphCanvas::setFollowing(bool isFollowing)
{
    if (m_isFollowing != isFollowing) {
        m_isFollowing = isFollowing;
        emit followChanged(isFollowing);
    }
    applyFollow();
    update();
}

/// The user moves the camera.
void GraphCanvas::letGo()
{
    if (hasCards()) {
        setFollowing(false);
    }
}

/// The mean place of what is visited around the moment, near visits counting most.
std::optional<layout::Point> GraphCanvas::followed() const
{
    const std::vector<VisitMark>& visits = m_scene->book->flow.visits();
    if (m_motion == nullptr || visits.empty()) {
        return std::nullopt;
    }
    const trace::Pace& pace = m_motion->pace();
    const double now = pace.visitsAt(isMotionReduced() ? std::floor(shownMoment()) : shownMoment()); // then it cuts
    const double first = pace.momentAt(now - kFollowReach - 1);
    auto visit = std::partition_point(visits.begin(), visits.end(), [first](const VisitMark& each) {
        return static_cast<double>(each.step) < first;
    });
    double total = 0;
    layout::Point sum;
    for (; visit != visits.end(); ++visit) {
        const double away = pace.visitsAt(static_cast<double>(visit->step)) + 0.5 - now;
        if (away > kFollowReach) {
            break;
        }
        const Index box = m_scene->boxOf(visit->node);
        if (box != kNone && away > -kFollowReach) {
            const double weight = (1 + std::cos(std::numbers::pi * away / kFollowReach)) / 2;
            const layout::Point at = m_scene->layout.nodes[static_cast<std::size_t>(box)].center();
            sum = {sum.x + weight * at.x, sum.y + weight * at.y};
            total += weight;
        }
    }
    if (total > 0) {
        return layout::Point{sum.x / total, sum.y / total};
    }
    const Index box = m_scene->boxOf(now < 1 ? visits.front().node : visits.back().node);
    return box == kNone ? std::nullopt : std::optional(m_scene->layout.nodes[static_cast<std::size_t>(box)].center());
}

void GraphCanvas::applyFollow()
{
    if (!hasCards() || !m_isFollowing || m_fit == Fit::All) {
        return;
    }
    const auto wanted = followed();
    if (!wanted) {
        return;
    }
    const QRectF view = overlays().free;
    const double zoom = m_camera.zoom();
    const bool isTurned = m_camera.isTransposed();
    const double margin = kMarginAround / zoom; // along the drawing; across it there is none
    layout::Rect bounds = m_scene->layout.bounds;
    bounds.y -= margin;
    bounds.height += 2 * margin;
    const double width = (isTurned ? view.height() : view.width()) / zoom; // in the directions of the scene
    const double height = (isTurned ? view.width() : view.height()) / zoom;
    const layout::Point center{bounds.x + restingPlace(wanted->x - bounds.x, width, bounds.width),
                               bounds.y + restingPlace(wanted->y - bounds.y, height, bounds.height)};
    GraphCamera camera = m_camera;
    camera.place(center, view.center());
    // Whole pixels, so that what rests is sharp and equal from frame to frame.
    const QPointF corner = camera.toScreen(layout::Point{0, 0});
    camera.pan(QPointF(std::round(corner.x()), std::round(corner.y())) - corner);
    if (!(camera == m_camera)) {
        m_camera = camera;
        update();
    }
}

void GraphCanvas::makeFrame()
{
    m_heat = {};
    if (m_motion == nullptr) {
        m_frame = {};
        return;
    }
    const trace::SpeedClass speed = trace::speedClassOf(m_speed);
    const double moment = shownMoment();
    m_motion->frame(moment, speed, isMotionReduced(), m_frame);
    if (speed == trace::SpeedClass::Sum) {
        const double visits = m_motion->pace().visitsAt(moment);
        const double from = m_motion->pace().momentAt(visits - kGlow * m_speed);
        m_heat = heatOf(*m_scene, *m_motion, static_cast<std::uint64_t>(from), m_frame.step);
    }
}

void GraphCanvas::makeStill(const Theme& colors)
{
    const StillOf wanted{m_camera, size(), colors.kind(), devicePixelRatioF(), m_serial};
    if (wanted == m_stillOf && !m_still.isNull()) {
        return;
    }
    m_stillOf = wanted;
    const QSize pixels = size() * wanted.ratio;
    for (QPixmap* layer : {&m_ground, &m_still}) {
        if (layer->size() != pixels) {
            *layer = QPixmap(pixels);
        }
        layer->setDevicePixelRatio(wanted.ratio);
    }
    m_ground.fill(colors[Role::Base]); // opaque: it is copied, not blended
    m_still.fill(Qt::transparent);
    m_pictures.beginRound();
    GraphPicture shown = picture();
    shown.isGroundApart = true;
    QPainter ground(&m_ground);
    GraphPainter(ground, shown, m_camera, colors).paintGround(QRectF(rect()));
    QPainter painter(&m_still);
    GraphPainter(painter, shown, m_camera, colors).paint(QRectF(rect()));
    if (hasStripe()) {
        paintNodes(painter, colors);
    }
}

void GraphCanvas::paintInMotion(QPainter& painter, const Theme& colors)
{
    makeStill(colors);
    const GraphPicture shown = picture();
    MotionLook look;
    look.speed = trace::speedClassOf(m_speed);
    look.isReduced = isMotionReduced();
    look.heat = look.speed == trace::SpeedClass::Sum && m_motion != nullptr ? &m_heat : nullptr;
    look.frontier = m_frontier;
    const bool isTurned = m_scene->style.isSideways;
    const QRectF area(rect());
    const QRectF free = overlays().free;
    painter.drawPixmap(0, 0, m_ground);
    if (m_motion != nullptr) {
        MotionPainter(painter, shown, m_camera, colors, look)
            .paintBelow(isTurned ? area.adjusted(0, fonts::px(26), 0, 0) : area);
    }
    painter.drawPixmap(0, 0, m_still);
    if (isTurned) {
        const QRectF strip(area.left(), free.bottom(), area.width(), area.bottom() - free.bottom() - fonts::px(26));
        if (m_camera.toScreen(m_scene->layout.bounds).bottom() > free.bottom()) { // cards reach below the shares
            painter.fillRect(QRectF(area.left(), free.bottom(), area.width(), area.height()), colors[Role::Base]);
        }
        if (hasRoomForShares()) {
            paintShares(painter, shown, m_camera, colors, strip);
        }
        paintEnds(painter, colors);
    }
    if (m_motion != nullptr) {
        if (hasStripe()) {
            painter.setClipRect(area.adjusted(0, stripesBottom(), 0, 0));
        }
        MotionPainter(painter, shown, m_camera, colors, look).paintAbove(area);
        painter.setClipping(false);
    }
    m_pictures.endRound();
}

/// Which way relevance runs, over a drawing that runs sideways.
void GraphCanvas::paintEnds(QPainter& painter, const Theme& colors) const
{
    const QFont font = fonts::small();
    const QFontMetricsF metrics(font);
    const double base = fonts::px(16);
    const double inset = fonts::px(12);
    painter.fillRect(QRectF(0, 0, width(), fonts::px(24)), colors[Role::Base]);
    painter.setFont(font);
    painter.setPen(colors[Role::Text3]);
    const double room = width() / 3.0 - 2 * inset;
    painter.drawText(QPointF(inset, base), metrics.elidedText(m_inputEnd, Qt::ElideMiddle, room));
    const QString score = metrics.elidedText(m_scoreEnd, Qt::ElideMiddle, room);
    painter.drawText(QPointF(width() - inset - metrics.horizontalAdvance(score), base), score);
    const QString way = tr("relevance runs this way");
    const double wide = metrics.horizontalAdvance(way);
    const double left = width() / 2.0 - wide / 2;
    painter.drawText(QPointF(left, base), way);
    const double y = std::round(base - metrics.capHeight() / 2) + 0.5;
    painter.setRenderHint(QPainter::Antialiasing, true);
    painter.setPen(QPen(colors[Role::Strong], 1));
    painter.drawLine(QPointF(left - fonts::px(104), y), QPointF(left - fonts::px(8), y));
    for (const double side : {-4.0, 4.0}) {
        painter.drawLine(QPointF(left - fonts::px(104), y), QPointF(left - fonts::px(98), y + side));
    }
    painter.setRenderHint(QPainter::Antialiasing, false);
}

} // namespace retro::views
