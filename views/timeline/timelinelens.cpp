// SPDX-License-Identifier: Apache-2.0
// The lens of the timeline: single visits around the cursor, below a run that has more of them than pixels.
#include "views/timeline/timelinelens.h"

#include "views/common/numbertext.h"
#include "views/common/paint/fonts.h"
#include "views/common/paint/marks.h"
#include "views/common/paint/theme.h"
#include "views/timeline/timelinepane.h"
#include "views/timeline/trackname.h"

#include <QPainter>

#include <algorithm>
#include <array>
#include <cmath>

namespace retro::views
{

namespace
{

constexpr double kBar = 8;              // design pixels: height of a promise
constexpr double kTickRoom = 76;        // between two figures of the axis
constexpr float kLaterLensCover = 0.6F; // of what comes after the cursor

void drawSmall(QPainter& painter, const QRectF& box, Qt::Alignment side, const QColor& color, const QString& text)
{
    painter.setPen(color);
    painter.drawText(box, side | Qt::AlignVCenter | Qt::TextSingleLine, text);
}

/// Where the bar of a promise lies, in pixels.
struct LensPlace
{
    double left = 0;
    double right = 0;
    double top = 0;
};

LensPlace placeInLens(const PromiseBar& bar, const TimeScale& scale, const QRectF& track)
{
    const double pitch = fonts::px(kPromiseRow);
    return {std::max(std::round(scale.x(bar.from + 0.5)), track.left()),
            std::min(std::round(scale.x(bar.to + 0.5)), track.right()),
            std::round(track.top() + bar.row * pitch + (pitch - fonts::px(kBar)) / 2)};
}

void paintBar(QPainter& painter, const LensPlace& place, double until, const ModeColors& colors, bool isDashed)
{
    QPen pen(colors.line, 1);
    if (isDashed) {
        pen.setDashPattern({3, 2});
    }
    painter.setPen(pen);
    painter.setBrush(colors.tint);
    painter.drawRect(QRectF(place.left, place.top, std::max(2.0, until - place.left), fonts::px(kBar))
                         .adjusted(0.5, 0.5, -0.5, -0.5));
}

void paintDotted(QPainter& painter, double from, const LensPlace& place, const Theme& theme)
{
    if (place.right > from) {
        QPen pen(theme[Role::Ghost], 1);
        pen.setDashPattern({1, 3});
        painter.setPen(pen);
        const double middle = std::round(place.top + fonts::px(kBar) / 2) + 0.5;
        painter.drawLine(QPointF(from, middle), QPointF(place.right, middle));
    }
}

} // namespace

LensRange lensAround(double place, std::uint32_t visits)
{
    const std::uint32_t wide = std::min(visits, kLensVisits);
    constexpr double kStep = kLensVisits / 3.0;
    const double wanted = std::round((place - kLensVisits / 2.0) / kStep) * kStep;
    const auto first = static_cast<std::uint32_t>(std::clamp(wanted, 0.0, static_cast<double>(visits - wide)));
    return {first, first + wide};
}

LensBars lensBars(const PromiseBars& all, const LensRange& range)
{
    LensBars out;
    std::array<std::uint32_t, kLensRows> freeFrom{};
    freeFrom.fill(range.first);
    for (const PromiseBar& bar : all.bars) {
        if (bar.from >= range.last || bar.to < range.first) {
            continue;
        }
        const std::uint32_t start = std::max(bar.from, range.first);
        const auto row = std::ranges::find_if(freeFrom, [start](std::uint32_t visit) { return visit <= start; });
        if (row == freeFrom.end()) {
            ++out.others;
            continue;
        }
        *row = bar.to + 2; // a name stands between two bars
        out.bars.push_back(bar);
        out.bars.back().row = static_cast<std::uint32_t>(row - freeFrom.begin());
    }
    return out;
}

LensRange TimelinePane::lensRange() const
{
    return lensAround(cursorsPlace(), static_cast<std::uint32_t>(m_total.size()));
}

TimeScale TimelinePane::lensScale(const TimelineTracks& tracks) const
{
    const LensRange range = lensRange();
    TimeScale scale;
    scale.left = tracks.lens.left();
    scale.width = tracks.lens.width();
    scale.from = range.first;
    scale.to = range.last;
    scale.count = static_cast<double>(m_total.size());
    return scale;
}

void TimelinePane::paintLens(QPainter& painter, const QSizeF& size, const Theme& theme) const
{
    const TimelineTracks tracks = tracksOf(size);
    const TimeScale scale = scaleFor(tracks);
    if (tracks.lens.isEmpty() || m_total.empty()) {
        return;
    }
    const LensRange range = lensRange();
    const TimeScale inside = lensScale(tracks);
    const auto clamped = [&](double visit) { return std::clamp(scale.x(visit), scale.left, scale.left + scale.width); };
    painter.save();
    painter.setRenderHint(QPainter::Antialiasing);
    painter.setPen(QPen(theme[Role::Accent], 1));
    const double neck = tracks.bottom() + fonts::px(2);
    painter.drawLine(QPointF(clamped(range.first), neck), QPointF(tracks.lens.left(), tracks.lens.top() - 1));
    painter.drawLine(QPointF(clamped(range.last), neck), QPointF(tracks.lens.right(), tracks.lens.top() - 1));
    painter.setRenderHint(QPainter::Antialiasing, false);
    painter.setFont(fonts::label(QFont::DemiBold));
    const QRectF name(fonts::px(10), tracks.lens.top() - fonts::px(2), tracks.labelWidth - fonts::px(14),
                      fonts::px(14));
    drawSmall(painter, name, Qt::AlignLeft, theme[Role::Text2], tr("Here"));
    painter.setFont(fonts::small());
    drawSmall(painter, name.translated(0, fonts::px(13)), Qt::AlignLeft, theme[Role::Text3],
              tr("%1 visits").arg(countText(std::int64_t{range.last} - range.first)));
    paintLensCells(painter, tracks, inside, theme);
    paintLensPromises(painter, tracks, inside, theme);
    paintLensAxis(painter, tracks, inside, theme);
    painter.restore();
}

/// The line, and the promises that wait: up to it dashed, behind it dotted.
void TimelinePane::paintInLens(QPainter& painter, const TimelineTracks& tracks, const Theme& theme) const
{
    if (tracks.lens.isEmpty() || m_total.empty()) {
        return;
    }
    const TimeScale scale = lensScale(tracks);
    const double cursor = scale.x(cursorsPlace());
    const std::uint64_t now = m_model.position();
    painter.save();
    for (const PromiseBar& bar : lensBars(m_promises, lensRange()).bars) {
        if (now > bar.openedAt && now <= bar.fulfilledAt) {
            const LensPlace place = placeInLens(bar, scale, tracks.lensPromises);
            const double until = std::clamp(cursor, place.left, place.right);
            paintBar(painter, place, until, theme.mode(event::Mode::Search), true);
            paintDotted(painter, until, place, theme);
        }
    }
    const double line = std::round(cursor);
    painter.fillRect(QRectF(line - 1, tracks.lens.top() - 2, 2, tracks.lensPromises.bottom() - tracks.lens.top() + 2),
                     theme[Role::Accent]);
    painter.restore();
}

void TimelinePane::paintLensCells(QPainter& painter, const TimelineTracks& tracks, const TimeScale& scale,
                                  const Theme& theme) const
{
    const std::vector<event::Mode>& modes = m_model.series().mode;
    const std::uint32_t now = cursorsVisit();
    const bool hasBegun = m_model.position() > 0;
    QColor cover = theme[Role::Base];
    cover.setAlphaF(kLaterLensCover);
    const LensRange range = lensRange();
    for (std::uint32_t visit = range.first; visit < range.last; ++visit) {
        const double left = std::round(scale.x(visit)) + 1;
        const double right = std::round(scale.x(visit + 1.0)) - 1;
        const QRectF cell(left, tracks.lens.top(), std::max(2.0, right - left), tracks.lens.height());
        paintModeBox(painter, cell.adjusted(0.5, 0.5, -0.5, -0.5), modes[visit], theme, 1);
        if (visit > now || !hasBegun) {
            painter.fillRect(cell, cover);
        }
    }
}

/// Names of all, bars of those that are fulfilled, and dotted lines of those that will be opened.
void TimelinePane::paintLensPromises(QPainter& painter, const TimelineTracks& tracks, const TimeScale& scale,
                                     const Theme& theme) const
{
    const LensBars bars = lensBars(m_promises, lensRange());
    const std::uint64_t now = m_model.position();
    const QRectF& track = tracks.lensPromises;
    const QFont font = fonts::smallNumbers();
    painter.setFont(font);
    for (const PromiseBar& bar : bars.bars) {
        const LensPlace place = placeInLens(bar, scale, track);
        if (now > bar.fulfilledAt) {
            paintBar(painter, place, place.right, theme.mode(event::Mode::Fulfilment), false);
        } else if (now <= bar.openedAt) {
            paintDotted(painter, place.left, place, theme);
        }
        const QString name = QStringLiteral("P%1").arg(bar.promise);
        const double wide = fonts::widthOf(font, name) + fonts::px(4);
        drawSmall(painter,
                  QRectF(place.left - wide, place.top - fonts::px(3), wide - fonts::px(3), fonts::px(kBar + 6)),
                  Qt::AlignRight, theme[now > bar.openedAt ? Role::Text2 : Role::Text3], name);
    }
    if (bars.others > 0) {
        painter.setFont(fonts::small());
        drawSmall(painter, QRectF(fonts::px(10), track.bottom() - fonts::px(14), tracks.labelWidth, fonts::px(14)),
                  Qt::AlignLeft, theme[Role::Text3], tr("%1 more").arg(countText(std::int64_t{bars.others})));
    }
}

void TimelinePane::paintLensAxis(QPainter& painter, const TimelineTracks& tracks, const TimeScale& scale,
                                 const Theme& theme) const
{
    painter.setFont(fonts::smallNumbers());
    const double half = fonts::px(kTickRoom / 2);
    const double here = scale.x(cursorsVisit() + 0.5);
    const std::uint32_t step = rulerStep(scale.pixelsPerVisit(), fonts::px(kTickRoom));
    const auto first = static_cast<std::uint32_t>(scale.from);
    for (std::uint32_t number = first / step * step; number <= static_cast<std::uint32_t>(scale.to); number += step) {
        const double x = scale.x(number - 0.5);
        const bool isInside = number > 0 && x >= tracks.lens.left() && x <= tracks.lens.right();
        if (isInside && std::abs(x - here) > half * 1.4) {
            drawSmall(painter, {x - half, tracks.lensAxis.top(), 2 * half, tracks.lensAxis.height()}, Qt::AlignHCenter,
                      theme[Role::Text3], countText(std::int64_t{number}));
        }
    }
    painter.setFont(fonts::sized(11, QFont::DemiBold, true));
    const double at = std::clamp(here, tracks.lens.left() + half / 2, tracks.lens.right() - half / 2);
    drawSmall(painter, {at - half, tracks.lensAxis.top(), 2 * half, tracks.lensAxis.height()}, Qt::AlignHCenter,
              theme[Role::Accent], countText(std::int64_t{cursorsVisit()} + 1));
}

/// A visit of the lens under a point; nothing outside of its cells and promises.
std::optional<std::uint32_t> TimelinePane::lensVisitAt(const QPointF& at) const
{
    const TimelineTracks all = tracks();
    const QRectF box = all.lens.united(all.lensPromises);
    if (all.lens.isEmpty() || m_total.empty() || !box.contains(at)) {
        return std::nullopt;
    }
    return lensScale(all).visitUnder(at.x());
}

/// What stands under a point of the lens, in words.
QString TimelinePane::lensTip(const QPointF& at, std::uint32_t visit) const
{
    const TimelineTracks all = tracks();
    if (all.lensPromises.contains(at)) {
        const auto row = static_cast<std::uint32_t>((at.y() - all.lensPromises.top()) / fonts::px(kPromiseRow));
        const LensBars shown = lensBars(m_promises, lensRange());
        const auto bar = std::ranges::find_if(
            shown.bars, [&](const PromiseBar& one) { return one.row == row && one.from <= visit && visit <= one.to; });
        if (bar != shown.bars.end()) {
            return promiseTip(*bar);
        }
    }
    return tr("Visit %1: %2").arg(countText(std::int64_t{visit} + 1), m_model.label(m_model.series().node[visit])) +
           QLatin1Char('\n') + frontierTip(visit);
}

} // namespace retro::views
