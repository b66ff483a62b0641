// SPDX-License-Identifier: Apache-2.0
#include "views/diagnose/chartdrawing.h"

#include "core/diagnosis/numbertext.h"
#include "views/common/paint/fonts.h"

#include <QPainter>
#include <QStringList>

#include <algorithm>
#include <cmath>
#include <vector>

namespace retro::views
{

namespace
{

using diagnosis::Chart;
using diagnosis::ChartKind;

// Design pixels.
constexpr double kBarsHeight = 84;
constexpr double kLabelHeight = 15;
constexpr double kMapSide = 128;
constexpr double kRowHeight = 24;
constexpr double kAxisWidth = 44;
constexpr double kBroadestBar = 30;
constexpr std::size_t kMostNamedBars = 6;

QString figureOf(double number) { return QString::fromStdString(diagnosis::numberText(number)); }

bool isMarked(const Chart& chart, std::size_t at) { return std::ranges::find(chart.marked, at) != chart.marked.end(); }

QString nameAt(const Chart& chart, std::size_t at)
{
    return at < chart.names.size() ? QString::fromStdString(chart.names[at]) : QString::number(at);
}

/// From where to where the heights of a chart go, in what is drawn: numbers, or their logarithms.
struct HeightScale
{
    double low = 0;
    double high = 1;
    bool isLogarithmic = false;

    [[nodiscard]] double at(double number) const
    {
        if (isLogarithmic) {
            return number > 0 ? std::clamp((std::log10(number) - low) / (high - low), 0.0, 1.0) : 0;
        }
        return (number - low) / (high - low);
    }
};

HeightScale heightsOf(const Chart& chart)
{
    std::vector<double> numbers = chart.amounts;
    if (chart.kind == ChartKind::Bars) {
        numbers.insert(numbers.end(), chart.limits.begin(), chart.limits.end());
    }
    HeightScale scale;
    if (chart.isLogarithmic) {
        std::erase_if(numbers, [](double number) { return !(number > 0); });
        if (!numbers.empty()) {
            const auto [least, most] = std::ranges::minmax(numbers);
            scale.isLogarithmic = true;
            scale.low = std::floor(std::log10(least) - 0.1);
            scale.high = std::max(scale.low + 1, std::ceil(std::log10(most)));
        }
        return scale;
    }
    const auto [least, most] = std::ranges::minmax(numbers);
    scale.low = std::min(0.0, least);
    scale.high = std::max(0.0, most);
    scale.high = scale.high > scale.low ? scale.high : scale.low + 1;
    return scale;
}

/// Where bars or bins stand.
QRectF plotIn(const QRectF& place) { return place.adjusted(fonts::px(kAxisWidth), 2, -2, -fonts::px(kLabelHeight)); }

QRectF slotOf(const QRectF& plot, std::size_t at, std::size_t count)
{
    const double pitch = plot.width() / static_cast<double>(count);
    return {plot.left() + pitch * static_cast<double>(at), plot.top(), pitch, plot.height()};
}

void paintHeights(QPainter& painter, const QRectF& plot, const Chart& chart, const HeightScale& scale,
                  const Theme& colors)
{
    const double base = plot.bottom() - plot.height() * (scale.isLogarithmic ? 0 : scale.at(0));
    const bool isHistogram = chart.kind == ChartKind::Histogram;
    for (std::size_t i = 0; i < chart.amounts.size(); ++i) {
        const QRectF slot = slotOf(plot, i, chart.amounts.size());
        const double width = isHistogram ? std::max(1.0, slot.width() - 1)
                                         : std::clamp(slot.width() * 0.72, 1.0, double(fonts::px(kBroadestBar)));
        const double y = plot.bottom() - plot.height() * scale.at(chart.amounts[i]);
        QRectF bar(slot.center().x() - width / 2, std::min(y, base), width, std::abs(base - y));
        const QColor color = colors[isMarked(chart, i) ? Role::AlarmText : Role::Ghost];
        // What is marked, and a bin that holds anything, is seen however small it is.
        const bool isSeen = isHistogram ? chart.amounts[i] > 0 : isMarked(chart, i);
        if (isSeen && bar.height() < 2) {
            bar.setTop(base - 2);
            bar.setHeight(2);
        }
        painter.fillRect(bar, color);
    }
    painter.setPen(QPen(colors[Role::Line], 1));
    painter.drawLine(QPointF(plot.left(), std::floor(base) + 0.5), QPointF(plot.right(), std::floor(base) + 0.5));
}

void paintSides(QPainter& painter, const QRectF& place, const QRectF& plot, const HeightScale& scale,
                const Theme& colors)
{
    painter.setPen(colors[Role::Text3]);
    const double high = scale.isLogarithmic ? std::pow(10, scale.high) : scale.high;
    const double low = scale.isLogarithmic ? std::pow(10, scale.low) : scale.low;
    const double width = plot.left() - place.left() - 4;
    painter.drawText(QRectF(place.left(), plot.top() - 2, width, 14), Qt::AlignRight | Qt::AlignTop, figureOf(high));
    painter.drawText(QRectF(place.left(), plot.bottom() - 12, width, 14), Qt::AlignRight | Qt::AlignBottom,
                     figureOf(low));
}

/// Names of few bars below them; of many the first and the last, or that of what is marked where these have no room.
void paintNames(QPainter& painter, const QRectF& plot, const Chart& chart, const Theme& colors)
{
    painter.setPen(colors[Role::Text2]);
    const QFontMetricsF metrics(fonts::small());
    const double height = fonts::px(kLabelHeight) - 1;
    const std::size_t count = chart.amounts.size();
    if (count <= kMostNamedBars) {
        for (std::size_t i = 0; i < count; ++i) {
            const QRectF slot = slotOf(plot, i, count);
            painter.drawText(QRectF(slot.left(), plot.bottom() + 1, slot.width(), height), Qt::AlignCenter,
                             metrics.elidedText(nameAt(chart, i), Qt::ElideRight, slot.width() - 4));
        }
        return;
    }
    const QRectF below(plot.left(), plot.bottom() + 1, plot.width(), height);
    const QString first = nameAt(chart, 0);
    const QString last = nameAt(chart, count - 1);
    if (metrics.horizontalAdvance(first) + metrics.horizontalAdvance(last) + fonts::px(8) > plot.width()) {
        const std::size_t shown = chart.marked.empty() ? 0 : chart.marked.front();
        painter.drawText(below, Qt::AlignCenter,
                         metrics.elidedText(nameAt(chart, shown), Qt::ElideRight, plot.width()));
        return;
    }
    painter.drawText(below, Qt::AlignLeft | Qt::AlignVCenter, first);
    painter.drawText(below, Qt::AlignRight | Qt::AlignVCenter, last);
}

void paintBars(QPainter& painter, const QRectF& place, const Chart& chart, const Theme& colors)
{
    const QRectF plot = plotIn(place);
    const HeightScale scale = heightsOf(chart);
    paintSides(painter, place, plot, scale, colors);
    paintHeights(painter, plot, chart, scale, colors);
    painter.setPen(QPen(colors[Role::Text], 1, Qt::DashLine));
    for (const double limit : chart.limits) {
        const double y = std::floor(plot.bottom() - plot.height() * scale.at(limit)) + 0.5;
        painter.drawLine(QPointF(plot.left(), y), QPointF(plot.right(), y));
    }
    paintNames(painter, plot, chart, colors);
}

void paintHistogram(QPainter& painter, const QRectF& place, const Chart& chart, const Theme& colors)
{
    const QRectF plot = plotIn(place);
    const HeightScale scale = heightsOf(chart);
    paintSides(painter, place, plot, scale, colors);
    paintHeights(painter, plot, chart, scale, colors);
    painter.setPen(QPen(colors[Role::Text], 1, Qt::DashLine));
    for (const double limit : chart.limits) {
        const double share = (limit / 2 - chart.low / 2) / (chart.high / 2 - chart.low / 2);
        const double x = std::floor(plot.left() + plot.width() * std::clamp(share, 0.0, 1.0)) + 0.5;
        painter.drawLine(QPointF(x, plot.top()), QPointF(x, plot.bottom()));
    }
    painter.setPen(colors[Role::Text2]);
    const QRectF below(plot.left(), plot.bottom() + 1, plot.width(), fonts::px(kLabelHeight) - 1);
    painter.drawText(below, Qt::AlignLeft | Qt::AlignVCenter, figureOf(chart.low));
    painter.drawText(below, Qt::AlignRight | Qt::AlignVCenter, figureOf(chart.high));
}

/// Square cells where that fits.
QRectF mapPlaceIn(const QRectF& place, const Chart& chart)
{
    const double rows = static_cast<double>(chart.amounts.size() / std::max<std::size_t>(1, chart.columns));
    const double side = std::min(place.width(), static_cast<double>(fonts::px(kMapSide)));
    const double cell = side / std::max(rows, static_cast<double>(chart.columns));
    return {place.left() + 0.5, place.top() + 0.5, cell * static_cast<double>(chart.columns), cell * rows};
}

void paintMap(QPainter& painter, const QRectF& place, const Chart& chart, const Theme& colors)
{
    const QRectF map = mapPlaceIn(place, chart);
    const std::size_t rows = chart.amounts.size() / chart.columns;
    const double most = *std::ranges::max_element(chart.amounts);
    const double width = map.width() / static_cast<double>(chart.columns);
    const double height = map.height() / static_cast<double>(rows);
    for (std::size_t i = 0; i < rows * chart.columns; ++i) {
        const QRectF cell(map.left() + width * static_cast<double>(i % chart.columns),
                          map.top() + height * static_cast<double>(i / chart.columns), width, height);
        QColor color = colors[isMarked(chart, i) ? Role::AlarmText : Role::Strong];
        color.setAlphaF(most > 0 ? static_cast<float>(std::sqrt(chart.amounts[i] / most)) : 0.0F);
        painter.fillRect(cell, color);
    }
    painter.setPen(QPen(colors[Role::Line], 1));
    painter.drawRect(map);
}

void paintRows(QPainter& painter, const QRectF& place, const Chart& chart, const Theme& colors)
{
    const QFontMetricsF metrics(fonts::small());
    double widest = 0;
    for (const std::vector<std::string>& row : chart.rows) {
        widest = std::max(widest, row.empty() ? 0 : metrics.horizontalAdvance(QString::fromStdString(row.front())));
    }
    const double gap = fonts::px(14);
    const double caption = std::min(widest, place.width() * 0.4) + gap / 2;
    double y = place.top();
    for (const std::vector<std::string>& row : chart.rows) {
        const double height = fonts::px(kRowHeight) - 4;
        if (row.empty()) {
            continue;
        }
        painter.setPen(colors[Role::Text3]);
        painter.drawText(QRectF(place.left(), y, caption, height), Qt::AlignLeft | Qt::AlignVCenter,
                         metrics.elidedText(QString::fromStdString(row.front()), Qt::ElideMiddle, caption - gap / 2));
        const auto cells = static_cast<double>(row.size() - 1);
        const double most = (place.width() - caption - gap * (cells - 1)) / std::max(1.0, cells) - 2;
        double x = place.left() + caption;
        for (std::size_t i = 1; i < row.size(); ++i) {
            const QString text = QString::fromStdString(row[i]);
            const double width = std::min(most, metrics.horizontalAdvance(text) + fonts::px(12));
            const QRectF box(std::floor(x) + 0.5, std::floor(y) + 0.5, width, height - 1);
            painter.setPen(QPen(colors[Role::Line], 1));
            painter.setBrush(colors[Role::Alt]);
            painter.drawRect(box);
            painter.setPen(colors[Role::Text]);
            painter.drawText(box, Qt::AlignCenter, metrics.elidedText(text, Qt::ElideMiddle, width - fonts::px(8)));
            if (i + 1 < row.size()) {
                painter.setPen(colors[Role::Text3]);
                painter.drawText(QRectF(box.right(), y, gap, height), Qt::AlignCenter, QStringLiteral("→"));
            }
            x = box.right() + gap;
        }
        y += fonts::px(kRowHeight);
    }
    painter.setBrush(Qt::NoBrush);
}

} // namespace

double heightOfChart(const Chart& chart)
{
    switch (chart.kind) {
    case ChartKind::None:
        return 0;
    case ChartKind::Bars:
    case ChartKind::Histogram:
        return fonts::px(kBarsHeight + kLabelHeight);
    case ChartKind::Map:
        return fonts::px(kMapSide) + 2;
    case ChartKind::Rows:
        return fonts::px(kRowHeight) * static_cast<double>(chart.rows.size());
    }
    return 0;
}

void paintChart(QPainter& painter, const QRectF& place, const Chart& chart, const Theme& colors)
{
    painter.setFont(fonts::small());
    switch (chart.kind) {
    case ChartKind::None:
        return;
    case ChartKind::Bars:
        return paintBars(painter, place, chart, colors);
    case ChartKind::Histogram:
        return paintHistogram(painter, place, chart, colors);
    case ChartKind::Map:
        return paintMap(painter, place, chart, colors);
    case ChartKind::Rows:
        return paintRows(painter, place, chart, colors);
    }
}

QImage imageOfChart(const Chart& chart, const Theme& colors)
{
    constexpr int kWidth = 520;
    constexpr int kMargin = 6;
    constexpr double kDots = 2; // of one pixel
    if (chart.kind == ChartKind::None) {
        return {};
    }
    const int width = fonts::px(kWidth);
    const int height = static_cast<int>(std::ceil(heightOfChart(chart)));
    QImage image(QSizeF((width + 2 * kMargin) * kDots, (height + 2 * kMargin) * kDots).toSize(),
                 QImage::Format_ARGB32_Premultiplied);
    image.setDevicePixelRatio(kDots);
    image.fill(colors[Role::Base]);
    QPainter painter(&image);
    paintChart(painter, QRectF(kMargin, kMargin, width, height), chart, colors);
    return image;
}

QString spokenChart(const Chart& chart)
{
    QStringList parts{QString::fromStdString(chart.title)};
    if (chart.kind == ChartKind::Bars) {
        for (const std::size_t at : chart.marked) {
            parts << QStringLiteral("%1: %2").arg(nameAt(chart, at), figureOf(chart.amounts[at]));
        }
    } else if (chart.kind == ChartKind::Histogram) {
        parts << QStringLiteral("%1 … %2").arg(figureOf(chart.low), figureOf(chart.high));
    }
    for (const std::vector<std::string>& row : chart.rows) {
        QStringList texts;
        for (const std::string& text : row) {
            texts << QString::fromStdString(text);
        }
        parts << texts.join(QLatin1Char(' '));
    }
    return parts.join(QStringLiteral("; "));
}

QString textAt(const QRectF& place, const Chart& chart, const QPointF& point)
{
    const bool isMap = chart.kind == ChartKind::Map;
    const bool isOfBars = chart.kind == ChartKind::Bars || chart.kind == ChartKind::Histogram;
    const QRectF area = isMap ? mapPlaceIn(place, chart) : plotIn(place);
    if ((!isMap && !isOfBars) || !area.contains(point)) {
        return {};
    }
    const std::size_t columns = isMap ? chart.columns : chart.amounts.size();
    const std::size_t rows = isMap ? chart.amounts.size() / columns : 1;
    const auto along = [](double share, std::size_t count) {
        return std::min(count - 1, static_cast<std::size_t>(share * static_cast<double>(count)));
    };
    const std::size_t column = along((point.x() - area.left()) / area.width(), columns);
    const std::size_t row = isMap ? along((point.y() - area.top()) / area.height(), rows) : 0;
    const QString amount = figureOf(chart.amounts[row * columns + column]);
    if (isMap) {
        return QStringLiteral("%1, %2: %3").arg(row).arg(column).arg(amount);
    }
    if (chart.kind == ChartKind::Bars) {
        return QStringLiteral("%1: %2").arg(nameAt(chart, column), amount);
    }
    const double bin = (chart.high / 2 - chart.low / 2) / static_cast<double>(columns) * 2;
    const double begin = chart.low + bin * static_cast<double>(column);
    return QStringLiteral("%1 … %2: %3").arg(figureOf(begin), figureOf(begin + bin), amount);
}

} // namespace retro::views
