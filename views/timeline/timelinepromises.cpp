// SPDX-License-Identifier: Apache-2.0
// Promises in the timeline: a bar each, from where it is opened to where it is fulfilled. Blue once it is, dashed while
// it waits, a thin outline before.
#include "views/common/paint/fonts.h"
#include "views/common/paint/marks.h"
#include "views/common/paint/theme.h"
#include "views/timeline/timelinepane.h"
#include "views/timeline/trackname.h"

#include <QPainter>

#include <algorithm>
#include <array>
#include <cmath>
#include <optional>

namespace retro::views
{

namespace
{

constexpr double kBarHeight = 8;
constexpr double kBarGap = 4; // design pixels: a diamond reaches so far behind its bar

/// How far every row is taken, so that no bar is drawn that would only lie on others.
class BarRows
{
public:
    explicit BarRows(const QRectF& track) { m_taken.fill(track.left() - 1); }
    [[nodiscard]] double taken(std::uint32_t row) const { return m_taken[row]; }
    /// Takes the room of a bar that ends at a pixel; false when it has none.
    bool take(std::uint32_t row, double right)
    {
        if (right <= m_taken[row]) {
            return false;
        }
        m_taken[row] = right + fonts::px(kBarGap);
        return true;
    }

private:
    std::array<double, kMostBarRows> m_taken{};
};

/// Where a bar lies; nothing when it is out of sight.
std::optional<QRectF> boxOf(const PromiseBar& bar, const QRectF& track, const TimeScale& scale)
{
    const double left = std::round(scale.x(bar.from + 0.5));
    const double right = std::max(left + 2, std::round(scale.x(bar.to + 0.5)));
    if (right < track.left() || left > track.right()) {
        return std::nullopt;
    }
    const double pitch = fonts::px(kPromiseRow);
    const double top = std::round(track.top() + bar.row * pitch + (pitch - fonts::px(kBarHeight)) / 2);
    return QRectF(left, top, right - left, fonts::px(kBarHeight));
}

/// A bar with its diamond.
void paintBar(QPainter& painter, const QRectF& place, const PromiseBar& bar, std::uint64_t now, bool isEverFulfilled,
              const Theme& theme)
{
    const QRectF box = place.adjusted(0.5, 0.5, -0.5, -0.5);
    const bool isFulfilled = now > bar.fulfilledAt;
    const ModeColors colors = theme.mode(isFulfilled ? event::Mode::Fulfilment : event::Mode::Search);
    if (isFulfilled) {
        painter.setPen(QPen(colors.line, 1));
        painter.setBrush(colors.tint);
    } else {
        QPen pen(bar.isOpenAt(now) ? colors.line : theme[Role::Ghost], 1);
        pen.setDashPattern({3, 2});
        painter.setPen(pen);
        painter.setBrush(Qt::NoBrush);
    }
    painter.drawRect(box);
    if (isEverFulfilled) {
        paintDiamond(painter, {place.right(), box.center().y()}, fonts::px(kBarGap),
                     isFulfilled ? colors.line : theme[Role::Ghost], isFulfilled);
    }
}

} // namespace

/// As many promises are opened, and as many fulfilled.
std::uint64_t TimelinePane::promisesBehind() const
{
    if (m_total.empty()) {
        return 0;
    }
    const std::uint64_t now = m_model.position();
    const auto before = [now](const std::vector<std::uint64_t>& steps) {
        return static_cast<std::uint64_t>(std::ranges::lower_bound(steps, now) - steps.begin());
    };
    const trace::VisitSeries& series = m_model.series();
    return before(series.promisesOpened) << 32 | before(series.promisesCompleted);
}

/// All but how far the bars that wait have grown.
void TimelinePane::paintPromises(QPainter& painter, const QSizeF& size, const Theme& theme) const
{
    const TimelineTracks tracks = tracksOf(size);
    const QRectF& track = tracks.promises;
    if (m_total.empty() || track.isEmpty()) {
        return;
    }
    const TimeScale scale = scaleFor(tracks);
    paintTrackName(painter, {track.left(), track.top(), 1, std::min(fonts::px(kPromiseRow) * 1.5, track.height())},
                   tracks.labelWidth, tr("Promises"), theme);
    painter.save();
    painter.setClipRect(track.adjusted(-1, -1, 1, 1));
    const std::uint64_t now = m_model.position();
    const std::uint64_t end = m_model.run().eventCount();
    const QFont font = fonts::smallNumbers();
    painter.setFont(font);
    BarRows rows(track);
    for (const PromiseBar& bar : m_promises.bars) {
        const std::optional<QRectF> box = boxOf(bar, track, scale);
        const double before = rows.taken(bar.row);
        if (!box || !rows.take(bar.row, box->right())) {
            continue;
        }
        paintBar(painter, *box, bar, now, bar.fulfilledAt < end, theme);
        const QString name = QStringLiteral("P%1").arg(bar.promise);
        const double wide = fonts::widthOf(font, name) + fonts::px(4);
        if (box->left() - wide > before + fonts::px(4)) {
            painter.setPen(theme[now > bar.openedAt ? Role::Text2 : Role::Text3]);
            painter.drawText(
                QRectF(box->left() - wide, box->top() - fonts::px(3), wide - fonts::px(3), fonts::px(kBarHeight + 6)),
                Qt::AlignRight | Qt::AlignVCenter, name);
        }
    }
    painter.restore();
}

/// How far those that wait have grown: one stretch per row, as all of them reach to the cursor.
void TimelinePane::paintWaiting(QPainter& painter, const TimelineTracks& tracks, const TimeScale& scale,
                                const Theme& theme) const
{
    const QRectF& track = tracks.promises;
    if (track.isEmpty()) {
        return;
    }
    const std::uint64_t now = m_model.position();
    std::array<std::optional<QRectF>, kMostBarRows> waiting;
    for (const PromiseBar& bar : m_promises.bars) {
        if (bar.openedAt >= now) {
            break; // in the order in which they are opened
        }
        if (const auto box = bar.isOpenAt(now) ? boxOf(bar, track, scale) : std::nullopt) {
            std::optional<QRectF>& row = waiting[bar.row];
            row = row ? row->united(*box) : *box;
        }
    }
    const double cursor = scale.x(cursorsPlace());
    for (const std::optional<QRectF>& row : waiting) {
        if (row) {
            const double left = std::max(row->left(), track.left()) + 1;
            const double right = std::min({cursor, row->right() - fonts::px(kBarGap), track.right()});
            painter.fillRect(QRectF(left, row->top() + 1, std::max(0.0, right - left), row->height() - 2),
                             theme.mode(event::Mode::Search).tint);
        }
    }
}

} // namespace retro::views
