// SPDX-License-Identifier: Apache-2.0
#include "views/heatmap/featurerows.h"

#include "views/common/numbertext.h"
#include "views/common/paint/fonts.h"

#include <QFontMetricsF>
#include <QPainter>

#include <algorithm>
#include <cmath>
#include <numeric>

namespace retro::views
{

namespace
{

constexpr double kRowGap = 2;
constexpr double kMostRowWidth = 760;
constexpr double kNameShare = 0.34; // of a row; the number has half as much, the bar the rest

constexpr double kRowInset = 3;
constexpr double kRowSide = 6;

double lineOfRow() { return std::ceil(QFontMetricsF(fonts::label()).height()) + 2 * fonts::px(kRowInset); }

} // namespace

std::vector<QRectF> layoutFeatures(const StepStrip& strip, double width)
{
    std::vector<std::size_t> order(strip.values.size());
    std::iota(order.begin(), order.end(), std::size_t{0});
    const auto sizeOf = [&](std::size_t i) {
        return std::isfinite(strip.values[i]) ? std::abs(strip.values[i]) : -1.0;
    };
    std::ranges::stable_sort(order, [&](std::size_t a, std::size_t b) { return sizeOf(a) > sizeOf(b); });
    const double pitch = lineOfRow() + fonts::px(kRowGap);
    const double line = std::min(std::max(width, 1.0), static_cast<double>(fonts::px(kMostRowWidth)));
    std::vector<QRectF> rows(order.size());
    for (std::size_t rank = 0; rank < order.size(); ++rank) {
        rows[order[rank]] = QRectF(0, static_cast<double>(rank) * pitch, line, lineOfRow());
    }
    return rows;
}

void paintFeatures(QPainter& painter, const StepStrip& strip, const std::vector<double>& numbers,
                   const std::vector<QRectF>& rows, const Theme& theme)
{
    double largest = 0;
    for (const double value : strip.values) {
        largest = std::max(largest, std::isfinite(value) ? std::abs(value) : 0.0);
    }
    const QFontMetricsF names(fonts::label());
    const double figures = std::ceil(fonts::widthOf(fonts::smallNumbers(), QStringLiteral("-0.0000e-00")));
    for (std::size_t step = 0; step < std::min({rows.size(), strip.values.size(), numbers.size()}); ++step) {
        const QRectF& row = rows[step];
        const double name = row.width() * kNameShare;
        const double padding = fonts::px(kRowSide);
        painter.setPen(theme[Role::Text]);
        painter.setFont(fonts::label());
        painter.drawText(QRectF(row.left() + padding, row.top(), name - padding, row.height()),
                         Qt::AlignLeft | Qt::AlignVCenter,
                         names.elidedText(strip.word(step), Qt::ElideMiddle, name - 2 * padding));
        painter.setFont(fonts::smallNumbers());
        painter.setPen(theme[Role::Text2]);
        painter.drawText(QRectF(row.left() + name, row.top(), figures, row.height()), Qt::AlignRight | Qt::AlignVCenter,
                         valueText(numbers[step], 4));
        painter.setPen(theme[Role::Text]);
        painter.drawText(QRectF(row.right() - figures, row.top(), figures - padding, row.height()),
                         Qt::AlignRight | Qt::AlignVCenter, valueText(strip.values[step], 3));
        const QRectF room(row.left() + name + figures + padding, row.top(), 0, row.height());
        const double width = std::max(0.0, row.right() - figures - padding - room.left());
        const double middle = room.left() + width / 2;
        const double value = std::isfinite(strip.values[step]) ? strip.values[step] : 0;
        const double length = largest > 0 ? value / largest * width / 2 : 0;
        painter.fillRect(QRectF(middle + std::min(0.0, length), row.top() + fonts::px(kRowInset), std::abs(length),
                                row.height() - 2 * fonts::px(kRowInset)),
                         QColor::fromRgb(strip.map.at(value < 0 ? -0.75 : 0.75)));
        painter.setPen(QPen(theme[Role::Strong], 1));
        painter.drawLine(QPointF(middle, row.top()), QPointF(middle, row.bottom()));
    }
}

} // namespace retro::views
