// SPDX-License-Identifier: Apache-2.0
#include "core/trace/nodesteps.h"
#include "views/common/numbertext.h"
#include "views/common/paint/fonts.h"
#include "views/common/paint/marks.h"
#include "views/common/paint/theme.h"
#include "views/timeline/timelinepane.h"
#include "views/timeline/trackname.h"

#include <QPainter>
#include <QPainterPath>

#include <algorithm>
#include <array>
#include <cmath>

namespace retro::views
{

namespace
{

constexpr double kLeastOwnCell = 12; // design pixels of a visit that has a cell of its own in the mode strip
constexpr double kAside = 4;         // design pixels from the middle of a visit to each of two diamonds
constexpr float kLaterCover = 0.55F; // of what comes after the cursor

/// Name (and unit below) at the top left of a chart, three grid lines with figures before the axis.
void paintAxis(QPainter& painter, const QRectF& chart, double top, const QString& name, const QString& unit,
               const Theme& theme, double divisor)
{
    const double lineHeight = fonts::px(15);
    painter.setFont(fonts::label());
    painter.setPen(theme[Role::Text2]);
    painter.drawText(QPointF(fonts::px(10), chart.top() + lineHeight * 0.7), name);
    painter.setFont(fonts::small());
    painter.setPen(theme[Role::Text3]);
    painter.drawText(QPointF(fonts::px(10), chart.top() + lineHeight * 1.7), unit);
    painter.setFont(fonts::smallNumbers());
    const bool isTall = chart.height() > fonts::px(34);
    for (const double share : {0.0, 0.5, 1.0}) {
        if (share == 0.5 && (!isTall || top < 2)) {
            continue;
        }
        const double y = std::round(chart.bottom() - share * chart.height()) + 0.5;
        paintHairline(painter, {chart.left(), y}, {chart.right(), y}, theme[share == 0 ? Role::Strong : Role::Grid]);
        painter.setPen(theme[Role::Text3]);
        const double value = top * share / divisor;
        const QString figure =
            value == std::floor(value) ? countText(static_cast<std::int64_t>(value)) : fixedText(value, 1);
        painter.drawText(QRectF(chart.left() - fonts::px(60), y - fonts::px(8), fonts::px(54), fonts::px(16)),
                         Qt::AlignRight | Qt::AlignVCenter, figure);
    }
}

/// Step curve over a chart: area down to the axis, and its upper line.
struct StepCurve
{
    QPainterPath line;
    QPainterPath area;
};

StepCurve curveOf(const std::vector<StepPoint>& points, const QRectF& chart, double top)
{
    StepCurve curve;
    const auto y = [&](double value) { return chart.bottom() - value / top * chart.height(); };
    for (std::size_t i = 0; i < points.size(); ++i) {
        const QPointF start(points[i].left, y(points[i].value));
        if (i == 0) {
            curve.line.moveTo(start);
        } else {
            curve.line.lineTo(start);
        }
        curve.line.lineTo(points[i].right, start.y());
    }
    if (!points.empty()) {
        curve.area = curve.line;
        curve.area.lineTo(points.back().right, chart.bottom());
        curve.area.lineTo(points.front().left, chart.bottom());
        curve.area.closeSubpath();
    }
    return curve;
}

/// As told apart without colour: normal in full, search hatched, fulfilment in level lines.
void paintModeArea(QPainter& painter, const QPainterPath& area, event::Mode mode, const Theme& theme)
{
    const ModeColors colors = theme.mode(mode);
    if (mode == event::Mode::Normal) {
        painter.fillPath(area, colors.line);
        return;
    }
    const QRectF box = area.boundingRect();
    painter.save();
    painter.fillPath(area, colors.tint);
    painter.setClipPath(area, Qt::IntersectClip);
    if (mode == event::Mode::Search) {
        paintHatch(painter, box, colors.line, fonts::px(5));
    } else {
        for (double y = box.bottom() - fonts::px(3); y > box.top(); y -= fonts::px(3)) {
            paintHairline(painter, {box.left(), y}, {box.right(), y}, colors.line);
        }
    }
    painter.restore();
}

double largest(const std::vector<double>& values)
{
    return values.empty() ? 0 : *std::max_element(values.begin(), values.end());
}

/// Divisor and name of the unit that suits a number of bytes.
struct ByteUnit
{
    double divisor = 1;
    const char* name = "B";
};

ByteUnit unitFor(double bytes)
{
    constexpr double kKilo = 1000;
    if (bytes >= kKilo * kKilo * kKilo) {
        return {kKilo * kKilo * kKilo, "GB"};
    }
    if (bytes >= kKilo * kKilo) {
        return {kKilo * kKilo, "MB"};
    }
    return bytes >= kKilo ? ByteUnit{kKilo, "kB"} : ByteUnit{};
}

/// Legend sample and word, right-aligned, on a ground of their own that hides the cursor line behind them; returns the
/// x where the next entry to the left may end.
double paintLegend(QPainter& painter, double right, double y, const QString& word, const QColor& line,
                   const QColor& fill, const Theme& theme)
{
    const double width = std::ceil(fonts::widthOf(fonts::small(), word));
    const QRectF sample(std::round(right - width - fonts::px(15)), std::round(y) - fonts::px(5), fonts::px(10),
                        fonts::px(10));
    const double ground = sample.left() - fonts::px(3);
    painter.fillRect(QRectF(ground, y - fonts::px(8), right + fonts::px(3) - ground, fonts::px(15)), theme[Role::Base]);
    painter.setFont(fonts::small());
    painter.setPen(theme[Role::Text2]);
    painter.drawText(QPointF(right - width, y + fonts::px(4)), word);
    painter.fillRect(sample, fill);
    painter.setPen(line);
    painter.setBrush(Qt::NoBrush);
    painter.drawRect(sample.adjusted(0.5, 0.5, -0.5, -0.5));
    return sample.left() - fonts::px(14);
}

/// The same for what came into the frontier in a mode, with its letter and its pattern.
double paintModeLegend(QPainter& painter, double right, double y, event::Mode mode, const Theme& theme)
{
    const ModeColors colors = theme.mode(mode);
    const QString word = TimelinePane::tr("%1 %2").arg(letterOf(mode), wordOf(mode));
    const double next = paintLegend(painter, right, y, word, colors.line, colors.tint, theme);
    QPainterPath sample;
    sample.addRect(QRectF(next + fonts::px(14), std::round(y) - fonts::px(5), fonts::px(10), fonts::px(10)));
    paintModeArea(painter, sample, mode, theme);
    painter.setPen(colors.line);
    painter.drawRect(sample.boundingRect().adjusted(0.5, 0.5, -0.5, -0.5));
    return next;
}

/// Border, tint and letter of a mode as far as there is room for them.
void paintModeCell(QPainter& painter, const QRectF& box, event::Mode mode, const Theme& theme)
{
    if (box.width() < 4) {
        painter.fillRect(box, theme.mode(mode).line);
        return;
    }
    paintModeBox(painter, box.adjusted(0.5, 0.5, -0.5, -0.5), mode, theme, 1);
    if (box.width() < fonts::px(11)) {
        return;
    }
    painter.setFont(fonts::sized(10.5, QFont::Medium));
    painter.setPen(theme.mode(mode).text);
    const bool isWide = box.width() > fonts::px(30);
    painter.drawText(isWide ? box.adjusted(fonts::px(7), 0, 0, 0) : box,
                     isWide ? Qt::AlignLeft | Qt::AlignVCenter : Qt::AlignCenter, letterOf(mode));
}

void paintFlag(QPainter& painter, const QPointF& center, double radius, const QColor& color)
{
    QPainterPath flag;
    flag.moveTo(center.x() - radius * 0.7, center.y() - radius);
    flag.lineTo(center.x() + radius * 0.7, center.y() - radius);
    flag.lineTo(center.x() + radius * 0.7, center.y() + radius);
    flag.lineTo(center.x(), center.y() + radius * 0.4);
    flag.lineTo(center.x() - radius * 0.7, center.y() + radius);
    flag.closeSubpath();
    painter.fillPath(flag, color);
}

void paintMark(QPainter& painter, const QPointF& center, MarkKind kind, bool isAround, const Theme& theme)
{
    const double radius = fonts::px(5);
    switch (kind) {
    case MarkKind::Opened:
        return paintDiamond(painter, center, radius, theme.mode(event::Mode::Search).line, false);
    case MarkKind::Fulfilled:
        return paintDiamond(painter, center, radius, theme.mode(event::Mode::Fulfilment).line, true);
    case MarkKind::Violation:
        return paintCross(painter, center, radius - 1, theme[Role::AlarmLine]);
    case MarkKind::Breakpoint:
        if (isAround) {
            painter.setPen(QPen(theme[Role::AlarmLine], fonts::px(1.6)));
            painter.setBrush(Qt::NoBrush);
            painter.drawEllipse(center, radius + fonts::px(2), radius + fonts::px(2));
            return;
        }
        painter.setPen(Qt::NoPen);
        painter.setBrush(theme[Role::AlarmLine]);
        painter.drawEllipse(center, radius - 0.5, radius - 0.5);
        return;
    case MarkKind::Bookmark:
        return paintFlag(painter, center, radius, theme[Role::Accent]);
    }
}

/// A column of visits in several modes: how many are in each.
void paintModeShare(QPainter& painter, const QRectF& track, const ModeShare& column, const Theme& theme)
{
    double bottom = track.bottom();
    for (const event::Mode mode : {event::Mode::Normal, event::Mode::Search, event::Mode::Fulfilment}) {
        const std::uint32_t count = column.counts[static_cast<std::size_t>(mode)];
        if (count > 0) {
            const double height = std::max(1.0, track.height() * count / column.total());
            painter.fillRect(QRectF(column.left, bottom - height, 1, height), theme.mode(mode).line);
            bottom -= height;
        }
    }
}

/// Visits in one mode: one cell, or one for each where there is room.
void paintModeRow(QPainter& painter, const QRectF& track, const ModeCell& cell, const TimeScale& scale,
                  const Theme& theme)
{
    const std::uint32_t parts = scale.pixelsPerVisit() >= fonts::px(kLeastOwnCell) ? cell.count : 1;
    const double width = (cell.right - cell.left) / parts; // with room for its letter every visit has a cell
    for (std::uint32_t i = 0; i < parts; ++i) {
        const double gap = parts > 1 || cell.count == 1 ? 1 : 0;
        paintModeCell(painter, {cell.left + i * width + gap, track.top(), width - gap, track.height()}, cell.mode,
                      theme);
    }
}

} // namespace

void paintTrackName(QPainter& painter, const QRectF& track, double columnWidth, const QString& name, const Theme& theme)
{
    painter.setFont(fonts::label());
    painter.setPen(theme[Role::Text2]);
    const QRectF box(fonts::px(10), track.top(), columnWidth - fonts::px(14), track.height());
    painter.drawText(box, Qt::AlignLeft | Qt::AlignVCenter, name);
}

void TimelinePane::paint(QPainter& painter, const QSizeF& size, const Theme& theme) const
{
    paintStill(painter, size, theme);
    paintPromises(painter, size, theme);
    paintLens(painter, size, theme);
    paintMoving(painter, size, theme);
}

/// Everything below the cursor line; nothing of it depends on where that stands.
void TimelinePane::paintStill(QPainter& painter, const QSizeF& size, const Theme& theme) const
{
    painter.fillRect(QRectF(QPointF(0, 0), size), theme[Role::Base]);
    const TimelineTracks tracks = tracksOf(size);
    const TimeScale scale = scaleFor(tracks);
    paintRuler(painter, tracks, scale, theme);
    paintModes(painter, tracks, scale, theme);
    paintMarks(painter, tracks, scale, theme);
    paintEvents(painter, tracks, scale, theme);
    paintFrontier(painter, tracks, scale, theme);
    paintBytes(painter, tracks, scale, theme);
    paintDepth(painter, tracks, scale, theme);
    paintRange(painter, tracks, scale, theme);
    paintFold(painter, tracks, scale, theme);
}

/// The search for a plan, which is not what the run is about: a hatched stretch.
void TimelinePane::paintFold(QPainter& painter, const TimelineTracks& tracks, const TimeScale& scale,
                             const Theme& theme) const
{
    const double end = std::min(scale.x(scale.folded), tracks.modes.right());
    if (scale.folded <= 0 || end <= tracks.modes.left()) {
        return;
    }
    const QRectF box(tracks.modes.left(), tracks.modes.top(), end - tracks.modes.left(),
                     tracks.bottom() - tracks.modes.top());
    painter.fillRect(box, theme[Role::Alt]);
    paintHatch(painter, box, theme[Role::Grid], fonts::px(5));
    paintHairline(painter, box.topRight(), box.bottomRight(), theme[Role::Strong]);
    painter.setFont(fonts::small());
    painter.setPen(theme[Role::Text2]);
    painter.save();
    painter.translate(box.center());
    painter.rotate(-90);
    const QString words = tr("search for the plan, %1 visits").arg(countText(static_cast<std::int64_t>(scale.folded)));
    const QRectF line(-box.height() / 2, -fonts::px(8), box.height(), fonts::px(16));
    if (box.width() >= fonts::px(12)) {
        painter.drawText(line, Qt::AlignCenter | Qt::TextSingleLine,
                         painter.fontMetrics().elidedText(words, Qt::ElideRight, static_cast<int>(box.height())));
    }
    painter.restore();
}

/// The cursor line and what lies on it.
void TimelinePane::paintMoving(QPainter& painter, const QSizeF& size, const Theme& theme) const
{
    const TimelineTracks tracks = tracksOf(size);
    const TimeScale scale = scaleFor(tracks);
    if (!m_total.empty()) {
        paintLater(painter, tracks, scale, theme);
        paintWaiting(painter, tracks, scale, theme);
        paintMembers(painter, tracks, scale, theme);
        paintCursor(painter, tracks, scale, theme);
        paintInLens(painter, tracks, theme);
    }
    paintLegends(painter, tracks, theme);
    if (!m_total.empty()) {
        paintReadOut(painter, tracks, scale, theme);
    }
}

void TimelinePane::paintRuler(QPainter& painter, const TimelineTracks& tracks, const TimeScale& scale,
                              const Theme& theme) const
{
    paintTrackName(painter, tracks.ruler, tracks.labelWidth, tr("Visit"), theme);
    painter.setFont(fonts::smallNumbers());
    painter.setPen(theme[Role::Text3]);
    const std::uint32_t step = rulerStep(scale.pixelsPerVisit(), fonts::px(64));
    const auto last = static_cast<std::uint32_t>(std::min(scale.count, std::ceil(scale.visitOf(scale.to))));
    const auto first = static_cast<std::uint32_t>(std::max(scale.folded, scale.visitOf(scale.from)));
    std::uint32_t number = (first + (scale.folded > 0 ? step - 1 : 0)) / step * step;
    if (number == 0 && step == 1) {
        number = 1; // visits count from 1
    }
    for (; number <= last; number += step) {
        const std::uint32_t shown = std::max(number, 1U);
        const double x = scale.x(shown - 0.5);
        if (x >= tracks.ruler.left() && x <= tracks.ruler.right()) {
            painter.drawText(QRectF(x - fonts::px(40), tracks.ruler.top(), fonts::px(80), tracks.ruler.height()),
                             Qt::AlignCenter, countText(shown));
        }
    }
}

void TimelinePane::paintModes(QPainter& painter, const TimelineTracks& tracks, const TimeScale& scale,
                              const Theme& theme) const
{
    paintTrackName(painter, tracks.modes, tracks.labelWidth, tr("Mode"), theme);
    painter.fillRect(tracks.modes, theme[Role::Alt]);
    if (!m_model.hasRun()) {
        return;
    }
    painter.save();
    painter.setClipRect(tracks.modes.adjusted(0, 0, 1, 1));
    const std::vector<ModeShare> shares = modeShares(m_model.series().mode, scale);
    for (const ModeShare& column : shares) { // thinner than a pixel: what share each mode has
        paintModeShare(painter, tracks.modes, column, theme);
    }
    for (const ModeCell& cell : shares.empty() ? modeCells(m_model.series().mode, scale) : std::vector<ModeCell>()) {
        paintModeRow(painter, tracks.modes, cell, scale, theme);
    }
    painter.restore();
}

void TimelinePane::paintMarks(QPainter& painter, const TimelineTracks& tracks, const TimeScale& scale,
                              const Theme& theme) const
{
    paintTrackName(painter, tracks.markers, tracks.labelWidth, tr("Markers"), theme);
    painter.save();
    painter.setRenderHint(QPainter::Antialiasing);
    const double least = fonts::px(6);
    std::array<double, kMarkKinds> last{};
    last.fill(-1e9);
    for (const TimelineMark& mark : m_marks) {
        const double x = scale.x(mark.visit + 0.5);
        double& before = last[static_cast<std::size_t>(mark.kind)];
        if (x < tracks.markers.left() || x > tracks.markers.right() || x - before < least) {
            continue;
        }
        before = x;
        const double aside = mark.aside * fonts::px(kAside);
        paintMark(painter, {x + aside, tracks.markers.center().y()}, mark.kind, mark.isAround, theme);
    }
    painter.restore();
}

void TimelinePane::paintEvents(QPainter& painter, const TimelineTracks& tracks, const TimeScale& scale,
                               const Theme& theme) const
{
    const QRectF& chart = tracks.events;
    if (chart.isEmpty()) {
        return;
    }
    const double top = axisTop(largest(m_events));
    paintAxis(painter, chart, top, tr("Events"), tr("per visit"), theme, 1);
    const ModeColors colors = theme.mode(event::Mode::Normal);
    for (const StepPoint& visit : stepPoints(m_events, scale)) {
        const double left = std::max(std::round(visit.left), chart.left());
        const double right = std::min(std::round(visit.right), chart.right());
        const double gap = right - left > 3 ? 1 : 0;
        const double height = std::round(visit.value / top * chart.height());
        painter.fillRect(QRectF(left, chart.bottom() - height, right - left - gap, height), colors.line);
    }
}

void TimelinePane::paintFrontier(QPainter& painter, const TimelineTracks& tracks, const TimeScale& scale,
                                 const Theme& theme) const
{
    const QRectF& chart = tracks.frontier;
    const double top = axisTop(largest(m_total));
    paintAxis(painter, chart, top, tr("Frontier"), tr("tensors"), theme, 1);
    painter.save();
    painter.setClipRect(chart.adjusted(0, -2, 0, 1));
    constexpr std::array kModes{event::Mode::Normal, event::Mode::Search, event::Mode::Fulfilment};
    for (std::size_t mode = kModes.size(); mode-- > 0;) { // what lies lower covers what lies higher
        const StepCurve curve = curveOf(stepPoints(m_byMode[mode], scale), chart, top);
        painter.setPen(QPen(theme.mode(kModes[mode]).line, 1.4));
        paintModeArea(painter, curve.area, kModes[mode], theme);
        painter.drawPath(curve.line);
    }
    painter.restore();
}

void TimelinePane::paintBytes(QPainter& painter, const TimelineTracks& tracks, const TimeScale& scale,
                              const Theme& theme) const
{
    const QRectF& chart = tracks.bytes;
    const ByteUnit unit = unitFor(largest(m_bytes));
    const double top = axisTop(largest(m_bytes) / unit.divisor) * unit.divisor;
    paintAxis(painter, chart, top, tr("Bytes"), QLatin1String(unit.name), theme, unit.divisor);
    painter.save();
    painter.setClipRect(chart.adjusted(0, -2, 0, 1));
    const StepCurve curve = curveOf(stepPoints(m_bytes, scale), chart, top);
    const ModeColors colors = theme.mode(event::Mode::Fulfilment);
    painter.fillPath(curve.area, colors.tint);
    painter.setPen(QPen(colors.line, 1.6));
    painter.drawPath(curve.line);
    painter.restore();
}

void TimelinePane::paintDepth(QPainter& painter, const TimelineTracks& tracks, const TimeScale& scale,
                              const Theme& theme) const
{
    const QRectF& chart = tracks.depth;
    if (chart.isEmpty()) {
        return;
    }
    const double top = axisTop(std::max(largest(m_stacks), largest(m_queue)));
    paintAxis(painter, chart, top, tr("Waiting"), tr("nodes"), theme, 1);
    painter.save();
    painter.setClipRect(chart.adjusted(0, -2, 0, 1));
    const StepCurve stacks = curveOf(stepPoints(m_stacks, scale), chart, top);
    const StepCurve queue = curveOf(stepPoints(m_queue, scale), chart, top);
    const ModeColors normal = theme.mode(event::Mode::Normal);
    const ModeColors fulfil = theme.mode(event::Mode::Fulfilment);
    painter.fillPath(stacks.area, normal.tint);
    painter.setPen(QPen(normal.line, 1.4));
    painter.drawPath(stacks.line);
    painter.setPen(QPen(fulfil.line, 1.6, Qt::DashLine));
    painter.drawPath(queue.line);
    painter.restore();
}

void TimelinePane::paintLegends(QPainter& painter, const TimelineTracks& tracks, const Theme& theme) const
{
    const ModeColors normal = theme.mode(event::Mode::Normal);
    const ModeColors queue = theme.mode(event::Mode::Fulfilment);
    const double right = tracks.frontier.right();
    const double y = tracks.frontier.top() - fonts::px(9);
    double next = right;
    for (const event::Mode mode : {event::Mode::Fulfilment, event::Mode::Search, event::Mode::Normal}) {
        next = paintModeLegend(painter, next, y, mode, theme);
    }
    if (!tracks.depth.isEmpty()) {
        const double low = tracks.depth.top() - fonts::px(9);
        const double nextLow =
            paintLegend(painter, right, low, tr("promise queue"), queue.line, theme[Role::Base], theme);
        paintLegend(painter, nextLow, low, tr("stacks"), normal.line, normal.tint, theme);
    }
}

void TimelinePane::paintCursor(QPainter& painter, const TimelineTracks& tracks, const TimeScale& scale,
                               const Theme& theme) const
{
    const double x = std::round(scale.x(cursorsPlace()));
    if (x < tracks.modes.left() - 1 || x > tracks.modes.right() + 1) {
        return;
    }
    const double flag = fonts::px(6);
    const double flagTop = tracks.ruler.top() + fonts::px(2);
    painter.save();
    painter.fillRect(QRectF(x - 1, flagTop, 2, tracks.bottom() - flagTop), theme[Role::Accent]);
    painter.setRenderHint(QPainter::Antialiasing);
    QPainterPath shape;
    shape.addRoundedRect(QRectF(x - flag, flagTop, 2 * flag, flag * 1.5), 2, 2);
    shape.moveTo(x - flag, flagTop + flag * 1.2);
    shape.lineTo(x, flagTop + flag * 2.4);
    shape.lineTo(x + flag, flagTop + flag * 1.2);
    shape.setFillRule(Qt::WindingFill);
    painter.fillPath(shape, theme[Role::Accent]);
    painter.restore();
}

/// What comes after the line is pale.
void TimelinePane::paintLater(QPainter& painter, const TimelineTracks& tracks, const TimeScale& scale,
                              const Theme& theme) const
{
    const double x = std::clamp(std::round(scale.x(cursorsPlace())), tracks.modes.left(), tracks.modes.right() + 1);
    QColor cover = theme[Role::Base];
    cover.setAlphaF(kLaterCover);
    for (const QRectF& track :
         {tracks.modes, tracks.markers, tracks.events, tracks.frontier, tracks.bytes, tracks.depth}) {
        if (!track.isEmpty()) {
            // The cell of the visit that is on stays readable.
            const bool isCell = track == tracks.modes && m_model.position() > 0;
            const double from =
                isCell ? std::min(std::ceil(scale.x(std::floor(cursorsPlace()) + 1)), track.right() + 1) : x;
            painter.fillRect(QRectF(from, track.top() - 2, track.right() + 1 - from, track.height() + 2), cover);
        }
    }
}

/// ▲ under the visits in which those landed that are in the frontier now.
void TimelinePane::paintMembers(QPainter& painter, const TimelineTracks& tracks, const TimeScale& scale,
                                const Theme& theme) const
{
    constexpr std::size_t kMostNodes = 5000; // of a graph whose nodes are looked through for every picture
    const trace::RunState& state = m_model.state();
    if (state.nodes.size() > kMostNodes || m_model.position() == 0) {
        return;
    }
    const auto steps = m_model.derived<trace::NodeSteps>();
    for (const trace::FrontierMember& member : state.frontier()) {
        const std::span<const std::uint64_t> landings = steps->landings(member.node);
        const auto behind = std::ranges::lower_bound(landings, m_model.position());
        if (behind == landings.begin()) {
            continue;
        }
        const double x = scale.x(m_model.run().visitOf(*(behind - 1)) + 0.5);
        if (x >= tracks.modes.left() && x <= tracks.modes.right()) {
            painter.setRenderHint(QPainter::Antialiasing);
            paintTriangle(painter, {x, tracks.modes.bottom() + fonts::px(1)}, fonts::px(3.5), theme[Role::Accent]);
            painter.setRenderHint(QPainter::Antialiasing, false);
        }
    }
}

QString TimelinePane::readOutText() const
{
    const trace::RunState& state = m_model.state();
    return tr("frontier %1, %2")
        .arg(countText(static_cast<std::int64_t>(state.frontierLanded) + state.frontierHeld),
             bytesText(state.frontierBytes.sum()));
}

double TimelinePane::readOutReach() const { return fonts::widthOf(fonts::small(), readOutText()) + fonts::px(26); }

void TimelinePane::paintReadOut(QPainter& painter, const TimelineTracks& tracks, const TimeScale& scale,
                                const Theme& theme) const
{
    const QString text = readOutText();
    const double x = scale.x(cursorsPlace());
    const double width = fonts::widthOf(fonts::small(), text) + fonts::px(16);
    const double height = fonts::px(22);
    const bool isRight = x + fonts::px(10) + width < tracks.frontier.right();
    // Inside the byte chart's upper corner, beside the cursor, so that it never covers the frontier's figures.
    const QRectF box(isRight ? x + fonts::px(9) : x - fonts::px(9) - width, tracks.bytes.top() - fonts::px(6), width,
                     height);
    painter.setPen(QPen(theme[Role::Accent], 1));
    painter.setBrush(theme[Role::Base]);
    painter.setRenderHint(QPainter::Antialiasing);
    painter.drawRoundedRect(box.adjusted(0.5, 0.5, -0.5, -0.5), 3, 3);
    painter.setRenderHint(QPainter::Antialiasing, false);
    painter.setFont(fonts::small());
    painter.setPen(theme[Role::Text]);
    painter.drawText(box, Qt::AlignCenter, text);
}

} // namespace retro::views
