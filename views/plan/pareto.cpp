// SPDX-License-Identifier: Apache-2.0
#include "views/plan/pareto.h"

#include "views/common/csv.h"
#include "views/common/paint/fonts.h"
#include "views/common/paint/marks.h"
#include "views/common/paint/theme.h"
#include "views/plan/bytescale.h"
#include "views/plan/scheduleaxis.h"

#include <QCoreApplication>
#include <QPainter>
#include <QPainterPath>

#include <algorithm>
#include <array>
#include <cmath>

namespace retro::views
{

namespace
{

using fonts::px;

constexpr double kLeft = 46; // design pixels: figures of the axis of work
constexpr double kRight = 12;
constexpr double kTop = 22;
constexpr double kBottom = 36;
constexpr double kDear = 100;     // per cent: plans beyond this do not stretch the axis
constexpr double kLeastExtra = 5; // per cent
constexpr double kSymbol = 4.5;
constexpr double kNear = 9;

QString paretoText(const char* text) { return QCoreApplication::translate("retro::views::Pareto", text); }

bool hasPoint(const schedule::Attempt& one) { return one.peak > 0 && one.refusal.empty(); }

void paintAxes(QPainter& painter, const ParetoScale& scale, const Theme& theme)
{
    const ByteScale bytes = ByteScale::of(static_cast<std::uint64_t>(scale.mostBytes));
    painter.setFont(fonts::smallNumbers());
    const QRectF& chart = scale.chart;
    const double perExtra = chart.height() / scale.mostExtra;
    const double extraStep = markStep(perExtra, px(28));
    for (double extra = 0; extra <= scale.mostExtra + 1e-9; extra += extraStep) {
        const double y = scale.at(scale.leastBytes, extra).y();
        paintHairline(painter, {chart.left(), y}, {chart.right(), y}, theme[extra == 0 ? Role::Strong : Role::Grid]);
        painter.setPen(theme[Role::Text3]);
        painter.drawText(QRectF(0, y - px(8), chart.left() - px(6), px(16)), Qt::AlignRight | Qt::AlignVCenter,
                         signedText(extra, extraStep < 1 ? 1 : 0));
    }
    const double perByte = chart.width() / ((scale.mostBytes - scale.leastBytes) / bytes.divisor);
    const double step = markStep(perByte, px(56));
    for (double figure = std::ceil(scale.leastBytes / bytes.divisor / step) * step;
         figure * bytes.divisor <= scale.mostBytes; figure += step) {
        const double x = scale.at(figure * bytes.divisor, 0).x();
        paintHairline(painter, {x, chart.bottom()}, {x, chart.bottom() + px(3)}, theme[Role::Strong]);
        painter.setPen(theme[Role::Text3]);
        painter.drawText(QRectF(x - px(30), chart.bottom() + px(4), px(60), px(14)), Qt::AlignHCenter | Qt::AlignTop,
                         fixedText(figure, step < 1 ? 1 : 0));
    }
    painter.setFont(fonts::small());
    painter.setPen(theme[Role::Text3]);
    painter.drawText(QRectF(chart.left(), chart.bottom() + px(18), chart.width(), px(16)),
                     Qt::AlignRight | Qt::AlignTop, paretoText("peak memory, %1").arg(bytes.unit));
    painter.drawText(QRectF(px(6), px(2), chart.width(), px(16)), Qt::AlignLeft | Qt::AlignTop,
                     scale.above == 0 ? paretoText("extra work, %")
                                      : paretoText("extra work, %; %1 plans lie above").arg(scale.above));
}

void paintBudgetLine(QPainter& painter, const ParetoFigure& figure, const ParetoScale& scale, const Theme& theme)
{
    const QRectF& chart = scale.chart;
    const double x = std::clamp(scale.at(static_cast<double>(figure.budget), 0).x(), chart.left(), chart.right());
    const QRectF over(QPointF(x, chart.top()), chart.bottomRight());
    painter.fillRect(over, theme[Role::AlarmTint]);
    QPen pen(theme[Role::AlarmLine], 1.6);
    pen.setDashPattern({7 / 1.6, 4 / 1.6});
    painter.setPen(pen);
    painter.drawLine(QPointF(x, chart.top()), QPointF(x, chart.bottom()));
    const QString words = paretoText("over budget");
    painter.setFont(fonts::small());
    painter.setPen(theme[Role::AlarmText]);
    if (fonts::widthOf(painter.font(), words) + px(10) < over.width()) {
        painter.drawText(over.adjusted(px(5), px(3), 0, 0), Qt::AlignLeft | Qt::AlignTop, words);
    }
}

void paintFront(QPainter& painter, const ParetoFigure& figure, const ParetoScale& scale, const Theme& theme)
{
    QPainterPath path;
    for (const PlanPoint& point : paretoFront(figure.points)) {
        const QPointF to = scale.at(static_cast<double>(point.peak), figure.extra(point.cost));
        if (path.elementCount() == 0) {
            path.moveTo(to);
        } else {
            path.lineTo(to.x(), path.currentPosition().y());
            path.lineTo(to);
        }
    }
    painter.setPen(QPen(theme[Role::Ink], 1.4));
    painter.setBrush(Qt::NoBrush);
    painter.drawPath(path);
}

} // namespace

double ParetoFigure::extra(double cost) const { return baseCost > 0 ? 100 * (cost / baseCost - 1) : 0; }

std::vector<PlanPoint> paretoFront(const std::vector<PlanPoint>& points)
{
    std::vector<PlanPoint> sorted = points;
    std::ranges::stable_sort(sorted, [](const PlanPoint& a, const PlanPoint& b) {
        return std::pair(a.peak, a.cost) < std::pair(b.peak, b.cost);
    });
    std::vector<PlanPoint> front;
    for (PlanPoint& point : sorted) {
        if (front.empty() || point.cost < front.back().cost) {
            front.push_back(std::move(point));
        }
    }
    return front;
}

QPointF ParetoScale::at(double bytes, double extra) const
{
    return {chart.left() + (bytes - leastBytes) / (mostBytes - leastBytes) * chart.width(),
            chart.bottom() - extra / mostExtra * chart.height()};
}

ParetoScale paretoScale(const ParetoFigure& figure, const QSizeF& size)
{
    ParetoScale scale;
    scale.chart = QRectF(px(kLeft), px(kTop), std::max(1.0, size.width() - px(kLeft) - px(kRight)),
                         std::max(1.0, size.height() - px(kTop) - px(kBottom)));
    double least = static_cast<double>(figure.storeAllPeak);
    double extra = kLeastExtra;
    const auto take = [&](std::uint64_t peak, double cost) {
        least = std::min(least, static_cast<double>(peak));
        const double over = figure.extra(cost);
        extra = over <= kDear ? std::max(extra, over) : extra;
    };
    for (const PlanPoint& point : figure.points) {
        take(point.peak, point.cost);
    }
    for (const auto* attempts : {&figure.tries, &figure.later}) {
        for (const schedule::Attempt& one : *attempts) {
            if (hasPoint(one)) {
                take(one.peak, one.cost);
            }
        }
    }
    if (figure.budget > 0) { // its line lies on the chart, also where no plan is
        least = std::min(least, static_cast<double>(figure.budget));
    }
    scale.mostBytes = std::max(1.0, static_cast<double>(figure.storeAllPeak) * 1.06);
    scale.leastBytes = std::min(std::max(0.0, least * 0.85), scale.mostBytes * 0.9);
    scale.mostExtra = extra * 1.12;
    scale.above = static_cast<std::size_t>(std::ranges::count_if(
        figure.points, [&](const PlanPoint& point) { return figure.extra(point.cost) > scale.mostExtra; }));
    return scale;
}

int symbolOf(const std::string& planner)
{
    // The ones that are seen side by side most often have symbols of their own.
    constexpr std::array<std::string_view, 16> kOrder{"recompute_all",
                                                      "knapsack",
                                                      "dtr",
                                                      "min_cut",
                                                      "torch_every_2nd_mm",
                                                      "store_all",
                                                      "interval",
                                                      "revolve",
                                                      "rotor",
                                                      "chen_sqrt",
                                                      "dtr_online",
                                                      "shave",
                                                      "torch_memory_budget",
                                                      "anneal",
                                                      "exact",
                                                      "user"};
    const std::string_view name = std::string_view(planner).substr(0, planner.find(','));
    const auto at = std::ranges::find(kOrder, name);
    return at == kOrder.end() ? 3 : static_cast<int>(at - kOrder.begin()) % 6;
}

void paintSymbol(QPainter& painter, const QPointF& c, double r, int symbol, bool isChosen, const Theme& theme)
{
    painter.setPen(QPen(theme[isChosen ? Role::Accent : Role::Ink], 1.5));
    painter.setBrush(theme[isChosen ? Role::Accent : Role::Base]);
    switch (symbol) {
    case 0:
        painter.drawPolygon(
            QPolygonF({{c.x(), c.y() - r}, {c.x() + r, c.y() + r * 0.8}, {c.x() - r, c.y() + r * 0.8}}));
        return;
    case 1:
        painter.drawPolygon(
            QPolygonF({{c.x(), c.y() - r}, {c.x() + r, c.y()}, {c.x(), c.y() + r}, {c.x() - r, c.y()}}));
        return;
    case 2:
        painter.drawPolygon(
            QPolygonF({{c.x(), c.y() + r}, {c.x() + r, c.y() - r * 0.8}, {c.x() - r, c.y() - r * 0.8}}));
        return;
    case 3:
        painter.drawEllipse(c, r, r);
        return;
    case 4:
        painter.drawLine(QPointF(c.x() - r, c.y() - r), QPointF(c.x() + r, c.y() + r));
        painter.drawLine(QPointF(c.x() - r, c.y() + r), QPointF(c.x() + r, c.y() - r));
        return;
    default:
        painter.drawRect(QRectF(c.x() - r * 0.9, c.y() - r * 0.9, 1.8 * r, 1.8 * r));
        return;
    }
}

void paintPareto(QPainter& painter, const ParetoFigure& figure, const QSizeF& size, const Theme& theme)
{
    const ParetoScale scale = paretoScale(figure, size);
    painter.fillRect(QRectF(QPointF(), size), theme[Role::Base]);
    painter.setRenderHint(QPainter::Antialiasing, false);
    paintBudgetLine(painter, figure, scale, theme);
    paintAxes(painter, scale, theme);
    painter.setRenderHint(QPainter::Antialiasing, true);
    painter.save();
    const double beyond = px(kSymbol) + 2.0;
    painter.setClipRect(scale.chart.adjusted(-beyond, -beyond, beyond, beyond));
    painter.setPen(Qt::NoPen);
    painter.setBrush(theme[Role::Ghost]);
    for (const PlanPoint& point : figure.points) {
        painter.drawEllipse(scale.at(static_cast<double>(point.peak), figure.extra(point.cost)), px(2) * 0.8,
                            px(2) * 0.8);
    }
    paintFront(painter, figure, scale, theme);
    for (const schedule::Attempt& one : figure.tries) {
        if (hasPoint(one) && one.planner != figure.chosen) {
            paintSymbol(painter, scale.at(static_cast<double>(one.peak), figure.extra(one.cost)), px(kSymbol),
                        symbolOf(one.planner), false, theme);
        }
    }
    if (figure.plan) {
        paintSymbol(painter, scale.at(static_cast<double>(figure.plan->peak), figure.extra(figure.plan->cost)),
                    px(kSymbol) + 1, 3, true, theme);
    }
    if (figure.isTold && !figure.tries.empty() && hasPoint(figure.tries.back())) {
        const schedule::Attempt& newest = figure.tries.back();
        painter.setPen(QPen(theme[Role::Accent], 1.5));
        painter.setBrush(Qt::NoBrush);
        painter.drawEllipse(scale.at(static_cast<double>(newest.peak), figure.extra(newest.cost)), px(kSymbol) * 2,
                            px(kSymbol) * 2);
    }
    painter.restore();
}

const schedule::Attempt* attemptAt(const ParetoFigure& figure, const QSizeF& size, const QPointF& at)
{
    const ParetoScale scale = paretoScale(figure, size);
    const schedule::Attempt* nearest = nullptr;
    double least = px(kNear);
    for (const schedule::Attempt& one : figure.tries) {
        const QPointF place = scale.at(static_cast<double>(one.peak), figure.extra(one.cost));
        const double distance = std::hypot(place.x() - at.x(), place.y() - at.y());
        if (hasPoint(one) && distance < least) {
            least = distance;
            nearest = &one;
        }
    }
    return nearest;
}

std::string paretoCsv(const ParetoFigure& figure)
{
    std::vector<PlanPoint> all = figure.points;
    for (const schedule::Attempt& one : figure.tries) {
        if (hasPoint(one)) {
            all.push_back({one.planner, one.peak, one.cost});
        }
    }
    const std::vector<PlanPoint> front = paretoFront(all);
    CsvText text({"planner", "peak_bytes", "cost", "extra_work_percent", "is_best_known"});
    for (const PlanPoint& point : all) {
        const bool isBest = std::ranges::any_of(front, [&](const PlanPoint& best) {
            return best.planner == point.planner && best.peak == point.peak && best.cost == point.cost;
        });
        text.row(point.planner, point.peak, point.cost, figure.extra(point.cost), isBest ? 1 : 0);
    }
    return text.take();
}

} // namespace retro::views
