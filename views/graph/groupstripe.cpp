// SPDX-License-Identifier: Apache-2.0
#include "views/graph/groupstripe.h"

#include "views/common/numbertext.h"
#include "views/common/paint/fonts.h"
#include "views/common/paint/marks.h"

#include <QCoreApplication>
#include <QFontMetricsF>
#include <QPainter>

#include <algorithm>
#include <cmath>

namespace retro::views
{

namespace
{

// Design pixels.
constexpr double kMargin = 12;
constexpr double kNames = 84; ///< as those of the stripe of all nodes
constexpr double kTile = 62;  ///< wide
constexpr double kGap = 5;
constexpr double kHeight = 58;
constexpr double kLens = 12;
constexpr std::size_t kMostTileCells = 16; ///< then each stands for several nodes

QString tileText(const char* text) { return QCoreApplication::translate("retro::views::GraphView", text); }

/// Rows of cells: every node, or the most telling of several, by the mode of its last visit.
void paintCells(QPainter& painter, const QRectF& area, const LikeGroup& group, const NodeStripe& stripe,
                const Theme& theme)
{
    const std::size_t cells = std::min(group.nodes.size(), kMostTileCells);
    for (std::size_t cell = 0; cell < cells; ++cell) {
        event::Mode mode = event::Mode::None;
        for (std::size_t i = cell * group.nodes.size() / cells; i < (cell + 1) * group.nodes.size() / cells; ++i) {
            mode = std::max(mode, stripe.modes[group.nodes[i]]);
        }
        const double left =
            std::round(area.left() + area.width() * static_cast<double>(cell) / static_cast<double>(cells));
        const double right =
            std::round(area.left() + area.width() * static_cast<double>(cell + 1) / static_cast<double>(cells));
        painter.fillRect(QRectF(left, area.top(), std::max(1.0, right - left - 1), area.height()),
                         mode == event::Mode::None ? theme[Role::Grid] : theme.mode(mode).line);
    }
}

QString wordsOf(const GroupFill& fill)
{
    const QString nodes = countText(std::int64_t{fill.nodes});
    if (fill.done == fill.nodes) {
        return tileText("all %1").arg(nodes);
    }
    if (fill.done > 0) {
        return QStringLiteral("%1 / %2").arg(countText(std::int64_t{fill.done}), nodes);
    }
    return fill.asked > 0 ? tileText("%1 asked").arg(countText(std::int64_t{fill.asked})) : QStringLiteral("–");
}

void paintTile(QPainter& painter, const QRectF& box, const GroupStripe& stripe, std::size_t at, const Theme& theme)
{
    const LikeGroup& group = stripe.book.likeGroups[at];
    const GroupFill fill = fillOf(group, stripe.nodes);
    const event::Mode mode = fill.done > 0    ? event::Mode::Normal
                             : fill.asked > 0 ? event::Mode::Search
                                              : event::Mode::None;
    const bool isNow = stripe.now == at;
    painter.setRenderHint(QPainter::Antialiasing, true);
    if (isNow) {
        painter.setPen(QPen(theme[Role::Accent], 2));
        painter.setBrush(Qt::NoBrush);
        painter.drawRoundedRect(box.adjusted(-2, -2, 2, 2), 4, 4);
    }
    paintModeBox(painter, box.adjusted(0.5, 0.5, -0.5, -0.5), mode, theme, 3);
    painter.setRenderHint(QPainter::Antialiasing, false);
    const QRectF inner = box.adjusted(fonts::px(5), fonts::px(3), -fonts::px(5), -fonts::px(3));
    const QFont font = fonts::small(isNow ? QFont::DemiBold : QFont::Normal);
    painter.setFont(font);
    painter.setPen(theme[mode == event::Mode::None ? Role::Text2 : Role::Text]);
    const auto name = stripe.book.drawn.groupName(group.group);
    const QString whole = QString::fromUtf8(name.data(), static_cast<qsizetype>(name.size()));
    painter.drawText(QRectF(inner.left(), inner.top(), inner.width(), fonts::px(14)),
                     Qt::AlignCenter | Qt::TextSingleLine,
                     QFontMetricsF(font).elidedText(whole, Qt::ElideLeft, inner.width()));
    paintCells(painter, QRectF(inner.left(), inner.top() + fonts::px(18), inner.width(), fonts::px(9)), group,
               stripe.nodes, theme);
    const QRectF bar(inner.left(), inner.top() + fonts::px(31), inner.width(), fonts::px(4));
    painter.fillRect(bar, theme[Role::Grid]);
    const double share = fill.nodes == 0 ? 0 : static_cast<double>(fill.done) / fill.nodes;
    painter.fillRect(QRectF(bar.left(), bar.top(), std::round(bar.width() * share), bar.height()),
                     theme[isNow ? Role::Accent : Role::Keep]);
    const QFont numbers = fonts::smallNumbers();
    painter.setFont(numbers);
    painter.setPen(mode == event::Mode::Search ? theme.mode(mode).text : theme[Role::Text2]);
    painter.drawText(QRectF(inner.left(), inner.bottom() - fonts::px(13), inner.width(), fonts::px(14)),
                     Qt::AlignCenter | Qt::TextSingleLine,
                     QFontMetricsF(numbers).elidedText(wordsOf(fill), Qt::ElideRight, inner.width() + 2));
}

} // namespace

GroupFill fillOf(const LikeGroup& group, const NodeStripe& stripe)
{
    GroupFill fill;
    for (const std::uint32_t node : group.nodes) {
        const event::Mode mode = node < stripe.modes.size() ? stripe.modes[node] : event::Mode::None;
        ++fill.nodes;
        fill.done += mode == event::Mode::Normal || mode == event::Mode::Fulfilment ? 1 : 0;
        fill.asked += mode == event::Mode::Search ? 1 : 0;
    }
    return fill;
}

QRectF GroupTiles::tile(std::size_t group) const
{
    const double at = static_cast<double>(group) - static_cast<double>(first);
    return QRectF(std::round(left + pitch * at), panel.top() + 2, pitch - fonts::px(kGap), fonts::px(kHeight));
}

std::optional<std::size_t> GroupTiles::groupAt(double x) const
{
    const double at = std::floor((x - left) / pitch);
    const bool isThere = count > 0 && at >= 0 && at < static_cast<double>(count);
    return isThere ? std::optional(first + static_cast<std::size_t>(at)) : std::nullopt;
}

GroupTiles placeGroups(double width, double top, std::size_t groups, std::size_t middle)
{
    GroupTiles place;
    place.panel = QRectF(fonts::px(kMargin), top, width - 2 * fonts::px(kMargin), fonts::px(kHeight + kLens) + 2);
    place.left = place.panel.left() + fonts::px(kNames);
    const double room = place.panel.right() - place.left;
    const auto most = static_cast<std::size_t>(std::max(1.0, std::floor(room / fonts::px(kTile))));
    place.count = std::min(groups, most);
    place.pitch = std::floor(room / static_cast<double>(std::max(place.count, std::min(most, groups))));
    place.pitch = std::min<double>(place.pitch, 2 * fonts::px(kTile));
    const std::size_t half = place.count / 2;
    place.first = std::min(middle > half ? middle - half : 0, groups - place.count);
    return place;
}

std::size_t groupAround(const std::vector<LikeGroup>& groups, std::uint32_t node)
{
    const auto behind =
        std::ranges::upper_bound(groups, node, {}, [](const LikeGroup& one) { return one.nodes.front(); });
    return behind == groups.begin() ? 0 : static_cast<std::size_t>(behind - groups.begin()) - 1;
}

void paintGroupStripe(QPainter& painter, const GroupStripe& stripe, const GroupTiles& place, const Theme& theme)
{
    const std::vector<LikeGroup>& groups = stripe.book.likeGroups;
    if (groups.empty() || stripe.nodes.modes.empty()) {
        return;
    }
    painter.save();
    painter.fillRect(QRectF(0, place.panel.top(), place.panel.right() + place.panel.left(), place.panel.height()),
                     theme[Role::Base]);
    const QRectF name(place.panel.left(), place.panel.top() + fonts::px(8), fonts::px(kNames - 8), fonts::px(15));
    painter.setFont(fonts::label(QFont::DemiBold));
    painter.setPen(theme[Role::Text2]);
    painter.drawText(name, Qt::AlignLeft | Qt::AlignVCenter, tileText("Groups"));
    painter.setFont(fonts::small());
    painter.setPen(theme[Role::Text3]);
    painter.drawText(name.translated(0, fonts::px(15)), Qt::AlignLeft | Qt::AlignVCenter,
                     tileText("%1 alike").arg(countText(static_cast<std::int64_t>(groups.size()))));
    for (std::size_t at = place.first; at < place.first + place.count; ++at) {
        paintTile(painter, place.tile(at), stripe, at, theme);
    }
    painter.setRenderHint(QPainter::Antialiasing, true);
    painter.setPen(QPen(theme[Role::Accent], 1));
    const QRectF first = place.tile(std::clamp(stripe.firstShown, place.first, place.first + place.count - 1));
    const QRectF last = place.tile(std::clamp(stripe.lastShown, place.first, place.first + place.count - 1));
    painter.drawLine(QPointF(first.left(), first.bottom() + 2), place.panel.bottomLeft());
    painter.drawLine(QPointF(last.right(), last.bottom() + 2), place.panel.bottomRight());
    painter.restore();
}

} // namespace retro::views
