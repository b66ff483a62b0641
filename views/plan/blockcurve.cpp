// SPDX-License-Identifier: Apache-2.0
#include "views/plan/blockcurve.h"

#include "views/common/csv.h"
#include "views/common/paint/fonts.h"
#include "views/common/paint/marks.h"
#include "views/common/paint/theme.h"
#include "views/plan/bytescale.h"
#include "views/plan/scheduleaxis.h"

#include <QCoreApplication>
#include <QPainter>
#include <QPolygonF>

#include <algorithm>
#include <cmath>

namespace retro::views
{

namespace
{

using fonts::px;

// Design pixels.
constexpr double kCurveLeft = 52;  // figures of memory
constexpr double kCurveRight = 50; // figures of work
constexpr double kCurveTop = 20;
constexpr double kCurveBottom = 22;
constexpr double kSizeHandle = 6;
constexpr double kFigureRoom = 26; // between figures of an axis

constexpr std::size_t kEverySize = 6;

QString blockText(const char* text) { return QCoreApplication::translate("retro::views::BlockCurve", text); }

void paintMemoryAxis(QPainter& painter, const BlockScale& scale, const Theme& theme)
{
    const ByteScale bytes = ByteScale::of(static_cast<std::uint64_t>(scale.mostBytes));
    const double range = (scale.mostBytes - scale.leastBytes) / bytes.divisor;
    const double step = markStep(scale.chart.height() / range, px(kFigureRoom));
    for (double figure = std::ceil(scale.leastBytes / bytes.divisor / step) * step;
         figure * bytes.divisor <= scale.mostBytes; figure += step) {
        const double y = std::round(scale.yOfBytes(figure * bytes.divisor)) + 0.5;
        paintHairline(painter, {scale.chart.left(), y}, {scale.chart.right(), y}, theme[Role::Grid]);
        painter.setPen(theme[Role::Text3]);
        painter.drawText(QRectF(0, y - px(8), scale.chart.left() - px(6), px(16)), Qt::AlignRight | Qt::AlignVCenter,
                         fixedText(figure, step < 1 ? 1 : 0));
    }
    painter.setPen(theme[Role::FulfilText]);
    painter.drawText(QRectF(px(6), 0, scale.chart.width() / 2, px(16)), Qt::AlignLeft | Qt::AlignVCenter,
                     blockText("peak, %1").arg(bytes.unit));
}

void paintWorkAxis(QPainter& painter, const BlockScale& scale, const Theme& theme)
{
    const double step = markStep(scale.chart.height() / scale.mostExtra, px(kFigureRoom));
    for (double extra = 0; extra <= scale.mostExtra + 1e-9; extra += step) {
        painter.setPen(theme[Role::Text3]);
        painter.drawText(
            QRectF(scale.chart.right() + px(6), scale.yOfExtra(extra) - px(8), px(kCurveRight - 6), px(16)),
            Qt::AlignLeft | Qt::AlignVCenter, signedText(extra, step < 1 ? 1 : 0));
    }
    painter.setPen(theme[Role::SearchText]);
    painter.drawText(QRectF(scale.chart.center().x(), 0, scale.chart.width() / 2 + px(kCurveRight - 6), px(16)),
                     Qt::AlignRight | Qt::AlignVCenter, blockText("extra work, %"));
}

/// Round sizes, and the ends of the axis.
void paintSizeAxis(QPainter& painter, const BlockFigure& figure, const BlockScale& scale, const Theme& theme)
{
    paintHairline(painter, scale.chart.bottomLeft(), scale.chart.bottomRight(), theme[Role::Strong]);
    std::vector<std::size_t> marks{figure.operators};
    for (std::size_t decade = 1; decade <= figure.operators; decade *= 10) {
        for (const std::size_t round : {1, 2, 5}) {
            marks.push_back(decade * round);
        }
    }
    double last = scale.chart.right() + px(kFigureRoom);
    std::ranges::sort(marks, std::greater());
    for (const std::size_t mark : marks) {
        const double x = scale.x(static_cast<double>(mark));
        if (mark > figure.operators || last - x < px(kFigureRoom)) {
            continue;
        }
        last = x;
        paintHairline(painter, {x, scale.chart.bottom()}, {x, scale.chart.bottom() + px(3)}, theme[Role::Strong]);
        painter.setPen(theme[mark == figure.chosen ? Role::Accent : Role::Text3]);
        painter.drawText(QRectF(x - px(30), scale.chart.bottom() + px(5), px(60), px(14)),
                         Qt::AlignHCenter | Qt::AlignTop, countText(static_cast<std::int64_t>(mark)));
    }
}

void paintCurveLines(QPainter& painter, const BlockFigure& figure, const BlockScale& scale, const Theme& theme)
{
    QPolygonF peaks;
    QPolygonF work;
    for (const BlockPoint& point : figure.points) {
        const double x = scale.x(static_cast<double>(point.operators));
        peaks << QPointF(x, scale.yOfBytes(static_cast<double>(point.peak)));
        work << QPointF(x, scale.yOfExtra(figure.extra(point.cost)));
    }
    painter.setRenderHint(QPainter::Antialiasing, true);
    painter.setBrush(Qt::NoBrush);
    painter.setPen(QPen(theme[Role::SearchLine], 1.6, Qt::DashLine));
    painter.drawPolyline(work);
    painter.setPen(QPen(theme[Role::FulfilLine], 1.8));
    painter.drawPolyline(peaks);
    painter.setBrush(theme[Role::Base]);
    for (const QPointF& point : peaks) { // where a plan was made
        painter.drawEllipse(point, px(2), px(2));
    }
    painter.setRenderHint(QPainter::Antialiasing, false);
}

void paintCurveBudget(QPainter& painter, const BlockFigure& figure, const BlockScale& scale, const Theme& theme)
{
    const double y = std::round(scale.yOfBytes(static_cast<double>(figure.budget))) + 0.5;
    if (y < scale.chart.top() || y > scale.chart.bottom()) {
        return;
    }
    QPen pen(theme[Role::AlarmLine], 1.4);
    pen.setDashPattern({7 / 1.4, 4 / 1.4});
    painter.setPen(pen);
    painter.drawLine(QPointF(scale.chart.left(), y), QPointF(scale.chart.right(), y));
}

void paintChosenSize(QPainter& painter, const BlockFigure& figure, const BlockScale& scale, const Theme& theme)
{
    if (figure.chosen == 0) {
        return;
    }
    const double x = scale.x(static_cast<double>(figure.chosen));
    painter.setRenderHint(QPainter::Antialiasing, true);
    painter.setPen(QPen(theme[Role::Accent], 2));
    painter.drawLine(QPointF(x, scale.chart.top()), QPointF(x, scale.chart.bottom()));
    painter.setBrush(theme[Role::Base]);
    painter.drawEllipse(QPointF(x, scale.chart.bottom()), px(kSizeHandle), px(kSizeHandle));
    painter.setRenderHint(QPainter::Antialiasing, false);
}

} // namespace

double BlockFigure::extra(double cost) const { return baseCost > 0 ? std::max(0.0, 100 * (cost / baseCost - 1)) : 0; }

std::size_t BlockFigure::root() const
{
    return std::max<std::size_t>(1, static_cast<std::size_t>(std::sqrt(static_cast<double>(operators))));
}

std::vector<std::size_t> blockSizes(std::size_t operators)
{
    std::vector<std::size_t> sizes;
    for (std::size_t size = 1; size < operators; size += size < kEverySize ? 1 : (size + 3) / 4) {
        sizes.push_back(size);
    }
    if (operators > 0) {
        sizes.push_back(operators);
    }
    return sizes;
}

double BlockScale::x(double size) const
{
    return chart.left() + std::log(std::max(size, 1.0)) / std::log(mostSize) * chart.width();
}

double BlockScale::yOfBytes(double bytes) const
{
    return chart.bottom() - (bytes - leastBytes) / (mostBytes - leastBytes) * chart.height();
}

double BlockScale::yOfExtra(double extra) const { return chart.bottom() - extra / mostExtra * chart.height(); }

std::size_t BlockScale::sizeAt(double pixel) const
{
    const double share = std::clamp((pixel - chart.left()) / std::max(1.0, chart.width()), 0.0, 1.0);
    return static_cast<std::size_t>(std::lround(std::exp(share * std::log(mostSize))));
}

BlockScale blockScale(const BlockFigure& figure, const QSizeF& size)
{
    BlockScale scale;
    scale.chart = QRectF(px(kCurveLeft), px(kCurveTop), std::max(1.0, size.width() - px(kCurveLeft) - px(kCurveRight)),
                         std::max(1.0, size.height() - px(kCurveTop) - px(kCurveBottom)));
    scale.mostSize = std::max(2.0, static_cast<double>(figure.operators));
    if (figure.points.empty()) {
        return scale;
    }
    const auto peaks = std::ranges::minmax(figure.points, {}, &BlockPoint::peak);
    const auto least = static_cast<double>(peaks.min.peak);
    const double room = std::max(1.0, static_cast<double>(peaks.max.peak) - least) * 0.12;
    scale.leastBytes = std::max(0.0, least - room);
    scale.mostBytes = static_cast<double>(peaks.max.peak) + room;
    for (const BlockPoint& point : figure.points) {
        scale.mostExtra = std::max(scale.mostExtra, 1.05 * figure.extra(point.cost));
    }
    return scale;
}

void paintBlockCurve(QPainter& painter, const BlockFigure& figure, const QSizeF& size, const Theme& theme)
{
    painter.fillRect(QRectF(QPointF(), size), theme[Role::Base]);
    if (figure.points.empty()) {
        return;
    }
    const BlockScale scale = blockScale(figure, size);
    painter.setFont(fonts::smallNumbers());
    paintMemoryAxis(painter, scale, theme);
    paintWorkAxis(painter, scale, theme);
    paintCurveBudget(painter, figure, scale, theme);
    paintCurveLines(painter, figure, scale, theme);
    painter.setFont(fonts::smallNumbers());
    paintSizeAxis(painter, figure, scale, theme);
    paintChosenSize(painter, figure, scale, theme);
}

std::string blockCsv(const BlockFigure& figure)
{
    CsvText text({"operators", "peak_bytes", "extra_work_percent", "fits"});
    for (const BlockPoint& point : figure.points) {
        text.row(point.operators, point.peak, figure.extra(point.cost), point.peak <= figure.budget ? "yes" : "no");
    }
    return text.take();
}

} // namespace retro::views
