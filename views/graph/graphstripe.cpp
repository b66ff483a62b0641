// SPDX-License-Identifier: Apache-2.0
#include "views/graph/graphstripe.h"

#include "views/common/numbertext.h"
#include "views/common/paint/fonts.h"

#include <QCoreApplication>
#include <QPainter>

#include <algorithm>
#include <cmath>

namespace retro::views
{

namespace
{

constexpr double kStripeLabel = 84;  // design pixels of the names
constexpr double kStripeMargin = 12; // at both ends
constexpr double kStripeTrack = 30;  // height of the columns
constexpr double kStripeLens = 10;   // and of the lens below them
constexpr double kNothingYet = 0.3;  // height of a column whose nodes have no relevance

QString stripeText(const char* text) { return QCoreApplication::translate("retro::views::GraphView", text); }

double magnitudeOf(const trace::Run& run, const trace::NodeState& node)
{
    double sum = 0;
    for (const base::HandleId handle : node.relevance) {
        if (handle.isValid() && handle.index() < run.handles.size()) {
            sum += std::abs(run.handles[handle.index()].sum);
        }
    }
    return std::isfinite(sum) ? std::log1p(sum) : 0;
}

} // namespace

NodeStripe stripeOf(const trace::Run& run, const trace::RunState& state)
{
    NodeStripe stripe;
    const std::size_t count = std::min<std::size_t>(run.graph->nodeCount(), state.nodes.size());
    stripe.modes.reserve(count);
    stripe.heights.reserve(count);
    for (std::size_t i = 0; i < count; ++i) {
        const trace::NodeState& node = state.nodes[i];
        stripe.modes.push_back(node.lastMode);
        stripe.heights.push_back(static_cast<float>(magnitudeOf(run, node)));
    }
    stripe.now = state.isFinished ? base::NodeId() : state.current;
    return stripe;
}

std::vector<StripeColumn> stripeColumns(const NodeStripe& stripe, std::size_t most)
{
    const std::size_t nodes = stripe.modes.size();
    const std::size_t count = std::min(nodes, most);
    std::vector<StripeColumn> columns(count);
    const float highest = nodes == 0 ? 0 : *std::max_element(stripe.heights.begin(), stripe.heights.end());
    for (std::size_t column = 0; column < count; ++column) {
        StripeColumn& out = columns[column];
        for (std::size_t i = column * nodes / count; i < (column + 1) * nodes / count; ++i) {
            ++out.counts[static_cast<std::size_t>(stripe.modes[i])];
            out.height = std::max(out.height, highest > 0 ? stripe.heights[i] / highest : 0);
        }
    }
    return columns;
}

StripePlace placeStripe(double width, double top)
{
    StripePlace place;
    place.panel = QRectF(fonts::px(kStripeMargin), top, width - 2 * fonts::px(kStripeMargin),
                         fonts::px(kStripeTrack + kStripeLens));
    place.left = place.panel.left() + fonts::px(kStripeLabel);
    return place;
}

void paintStripe(QPainter& painter, const NodeStripe& stripe, const StripePlace& place, double first, double last,
                 const Theme& theme)
{
    const QRectF track = place.track().adjusted(0, 0, 0, -fonts::px(kStripeLens));
    painter.save();
    painter.setRenderHint(QPainter::Antialiasing, false);
    painter.fillRect(QRectF(0, place.panel.top(), place.panel.right() + place.panel.left(), place.panel.height()),
                     theme[Role::Base]);
    const std::vector<StripeColumn> columns = stripeColumns(stripe, static_cast<std::size_t>(track.width()));
    if (columns.empty()) {
        painter.restore();
        return;
    }
    const auto each = static_cast<std::int64_t>(
        std::ceil(static_cast<double>(stripe.modes.size()) / static_cast<double>(columns.size())));
    painter.setFont(fonts::label(QFont::DemiBold));
    painter.setPen(theme[Role::Text2]);
    const QRectF name(place.panel.left(), track.top(), place.left - place.panel.left() - fonts::px(8),
                      track.height() / 2);
    painter.drawText(name, Qt::AlignLeft | Qt::AlignVCenter, stripeText("All nodes"));
    painter.setFont(fonts::small());
    painter.setPen(theme[Role::Text3]);
    painter.drawText(name.translated(0, name.height()), Qt::AlignLeft | Qt::AlignVCenter,
                     each == 1 ? countText(static_cast<std::int64_t>(stripe.modes.size()))
                               : stripeText("%1 a column").arg(countText(each)));
    const double wide = track.width() / static_cast<double>(columns.size());
    for (std::size_t i = 0; i < columns.size(); ++i) {
        const StripeColumn& column = columns[i];
        const double left = std::round(track.left() + wide * static_cast<double>(i));
        const double right = std::round(track.left() + wide * static_cast<double>(i + 1));
        const double width = std::max(1.0, right - left - (wide >= 4 ? 1 : 0));
        const std::uint32_t total = column.counts[0] + column.counts[1] + column.counts[2] + column.counts[3];
        const double height =
            std::round(track.height() * (kNothingYet + (1 - kNothingYet) * static_cast<double>(column.height)));
        double bottom = track.bottom();
        for (const event::Mode mode :
             {event::Mode::Normal, event::Mode::Search, event::Mode::Fulfilment, event::Mode::None}) {
            const std::uint32_t count = column.counts[static_cast<std::size_t>(mode)];
            if (count > 0) {
                const double part = height * count / total;
                painter.fillRect(QRectF(left, bottom - part, width, part),
                                 mode == event::Mode::None ? theme[Role::Grid] : theme.mode(mode).line);
                bottom -= part;
            }
        }
    }
    painter.setRenderHint(QPainter::Antialiasing, true);
    const double from = track.left() + std::clamp(first, 0.0, 1.0) * track.width();
    const double to = std::max(from + 6, track.left() + std::clamp(last, 0.0, 1.0) * track.width());
    painter.setPen(QPen(theme[Role::Accent], 1.6));
    painter.setBrush(Qt::NoBrush);
    painter.drawRoundedRect(QRectF(from, track.top() - 1, to - from, track.height() + 2), 2, 2);
    painter.setPen(QPen(theme[Role::Accent], 1));
    painter.drawLine(QPointF(from, track.bottom() + 1), QPointF(place.panel.left(), place.panel.bottom()));
    painter.drawLine(QPointF(to, track.bottom() + 1), QPointF(place.panel.right(), place.panel.bottom()));
    painter.restore();
}

} // namespace retro::views
