// SPDX-License-Identifier: Apache-2.0
#include "views/heatmap/stepschart.h"

#include "views/common/numbertext.h"
#include "views/common/paint/fonts.h"
#include "views/common/paint/marks.h"
#include "views/heatmap/heatmaptranslation.h"

#include <QFontMetricsF>
#include <QPainter>

#include <algorithm>
#include <cmath>
#include <utility>

namespace retro::views
{

using fonts::px;

namespace
{

constexpr std::size_t kMostRows = 12;
constexpr std::size_t kMostChannels = 4;
constexpr double kNames = 118;
constexpr double kSums = 66;
constexpr double kAxis = 20;
constexpr double kLeastRow = 15;
constexpr double kMostRow = 34;
constexpr double kLeastPart = 34;
constexpr double kPartGap = 8;
constexpr double kLeastHeight = 70;
constexpr double kLeastWidth = 180;
constexpr double kLinksShare = 0.3; // of the room
constexpr double kMostLinksHeight = 130;
constexpr double kLeastLinks = 44;

/// The sums and norms among values, and the inputs.
std::vector<base::ValueId> mainValues(const RunModel& model, const std::vector<base::ValueId>& values)
{
    const graph::Graph& graph = model.graph();
    std::vector<base::ValueId> main;
    for (const base::ValueId value : values) {
        const base::NodeId node = graph.nodeOf(value);
        const QString op = model.op(node);
        if (graph.isInput(node) || op == QLatin1String("Add") || op.contains(QLatin1String("Norm"))) {
            main.push_back(value);
        }
    }
    return main;
}

/// No more values than there are rows, thinned out evenly; the ends stay.
std::vector<base::ValueId> thinned(std::vector<base::ValueId> from)
{
    while (from.size() > kMostRows) {
        std::vector<base::ValueId> fewer;
        for (std::size_t i = 0; i < kMostRows; ++i) {
            fewer.push_back(from[i * (from.size() - 1) / (kMostRows - 1)]);
        }
        from = std::move(fewer);
    }
    return from;
}

/// Values on the way that have the steps of the input, from the class down: a sum or a norm of a block rather than what
/// lies inside it, where there are many.
std::vector<base::ValueId> stepValues(const RunModel& model, std::size_t steps)
{
    std::vector<base::ValueId> values;
    const graph::Graph& graph = model.graph();
    const auto hasSteps = [&](base::ValueId value) {
        const tensor::Shape& shape = model.run().shapes[value.index()];
        return shape.size() >= 2 && shape.size() <= 3 && shape[0] == 1 && shape[1] == static_cast<std::int64_t>(steps);
    };
    for (std::size_t i = graph.nodeCount(); i-- > 0;) {
        const base::NodeId node(i);
        const base::ValueId output = graph.firstOutput(node);
        if (output.isValid() && hasSteps(output) && model.relevanceStep(node)) {
            values.push_back(output);
        }
    }
    for (const base::ValueId input : graph.inputs()) {
        if (hasSteps(input) && model.relevanceStep(graph.nodeOf(input))) {
            values.push_back(input);
        }
    }
    if (values.size() <= kMostRows) {
        return values;
    }
    std::vector<base::ValueId> main = mainValues(model, values);
    return thinned(main.size() >= 2 ? std::move(main) : std::move(values));
}

std::vector<StepsChart::Channel> signalOf(const RunModel& model, std::size_t steps)
{
    std::vector<StepsChart::Channel> channels;
    if (!model.input().words.isEmpty() || model.graph().inputs().empty()) {
        return channels;
    }
    const tensor::Tensor* input = model.forwardValue(model.graph().inputs().front());
    if (input == nullptr || !tensor::isFloating(input->dtype()) || input->rank() < 2 || input->rank() > 3 ||
        input->shape()[0] != 1 || input->shape()[1] != static_cast<std::int64_t>(steps)) {
        return channels;
    }
    const std::int64_t count = input->rank() == 3 ? input->shape()[2] : 1;
    const tensor::Tensor plain = input->contiguous();
    for (std::int64_t channel = 0; channel < std::min<std::int64_t>(count, kMostChannels); ++channel) {
        StepsChart::Channel one{count == 1 ? heatmapText("Value") : heatmapText("channel %1").arg(channel), {}};
        for (std::size_t step = 0; step < steps; ++step) {
            one.values.push_back(plain.at(static_cast<std::int64_t>(step) * count + channel));
        }
        channels.push_back(std::move(one));
    }
    return channels;
}

double sumOf(const std::vector<double>& values)
{
    double sum = 0;
    for (const double value : values) {
        sum += value;
    }
    return sum;
}

void paintName(QPainter& painter, const QRectF& part, const QString& name, const Theme& theme, bool isStrong = false)
{
    const QRectF box(part.left() - px(kNames), part.top(), px(kNames) - px(6), part.height());
    const QFont font = fonts::label(isStrong ? QFont::DemiBold : QFont::Normal);
    painter.setFont(font);
    painter.setPen(theme[Role::Text2]);
    painter.drawText(box, Qt::AlignLeft | Qt::AlignVCenter,
                     QFontMetricsF(font).elidedText(name, Qt::ElideMiddle, box.width()));
}

void paintSum(QPainter& painter, const QRectF& part, double sum, const Theme& theme)
{
    painter.setFont(fonts::smallNumbers());
    painter.setPen(theme[Role::Text2]);
    painter.drawText(QRectF(part.right() + px(4), part.top(), px(kSums) - px(4), part.height()),
                     Qt::AlignRight | Qt::AlignVCenter, valueText(sum, 3));
}

/// A line with a level for each step, the relevance of the step behind it.
void paintSignal(QPainter& painter, const StepsChart& chart, const StepsChartLayout& layout, std::size_t which,
                 const Theme& theme)
{
    const QRectF& part = layout.signal[which];
    const std::vector<double>& values = chart.signal[which].values;
    for (std::size_t step = 0; step < values.size(); ++step) {
        const double unit = chart.scale.toUnit(chart.relevance[step]);
        painter.fillRect(layout.column(step, part).adjusted(0.5, 0, -0.5, 0), QColor::fromRgb(chart.map.at(unit)));
    }
    const auto extremes = std::ranges::minmax(values);
    const double low = extremes.min;
    const double high = extremes.max;
    const double room = high > low ? high - low : 1;
    const auto yOf = [&](double v) { return part.bottom() - 3 - (v - low) / room * (part.height() - 6); };
    const Theme& light = Theme::of(ThemeKind::Light); // the ground is the map's
    if (low < 0 && high > 0) {
        paintHairline(painter, QPointF(part.left(), yOf(0)), QPointF(part.right(), yOf(0)), light[Role::Strong]);
    }
    QPolygonF line;
    for (std::size_t step = 0; step < values.size(); ++step) {
        const QRectF column = layout.column(step, part);
        line << QPointF(column.left(), yOf(values[step])) << QPointF(column.right(), yOf(values[step]));
    }
    painter.setBrush(Qt::NoBrush);
    painter.setPen(QPen(light[Role::Base], 3));
    painter.drawPolyline(line);
    painter.setPen(QPen(light[Role::Ink], 1.5));
    painter.drawPolyline(line);
    paintName(painter, part, chart.signal[which].name, theme);
    painter.setFont(fonts::smallNumbers());
    painter.setPen(theme[Role::Text3]);
    const QRectF figures(part.right() + px(4), part.top(), px(kSums) - px(4), part.height());
    painter.drawText(figures, Qt::AlignRight | Qt::AlignTop, valueText(high, 3));
    painter.drawText(figures, Qt::AlignRight | Qt::AlignBottom, valueText(low, 3));
}

void paintBars(QPainter& painter, const StepsChart& chart, const StepsChartLayout& layout, const Theme& theme)
{
    const QRectF& part = layout.bars;
    double low = 0;
    double high = 0;
    for (const double value : chart.relevance) {
        low = std::min(low, std::isfinite(value) ? value : 0);
        high = std::max(high, std::isfinite(value) ? value : 0);
    }
    const double room = high > low ? high - low : 1;
    const auto yOf = [&](double v) { return part.bottom() - 1 - (v - low) / room * (part.height() - 2); };
    for (std::size_t step = 0; step < chart.relevance.size(); ++step) {
        const double value = std::isfinite(chart.relevance[step]) ? chart.relevance[step] : 0;
        const QRectF column = layout.column(step, part);
        const double top = std::min(yOf(value), yOf(0));
        painter.fillRect(QRectF(column.left() + column.width() * 0.12, top, std::max(1.0, column.width() * 0.76),
                                std::max(1.0, std::abs(yOf(value) - yOf(0)))),
                         QColor::fromRgb(chart.map.at(value < 0 ? -0.75 : 0.75)));
    }
    paintHairline(painter, QPointF(part.left(), yOf(0)), QPointF(part.right(), yOf(0)), theme[Role::Strong]);
    paintName(painter, part, heatmapText("Relevance"), theme, true);
    paintSum(painter, part, sumOf(chart.relevance), theme);
}

void paintRow(QPainter& painter, const StepsChart& chart, const StepsChartLayout& layout, std::size_t which,
              const Theme& theme)
{
    const QRectF& part = layout.rows[which];
    const StepsChart::Row& row = chart.rows[which];
    paintName(painter, part, row.name, theme, row.isShown);
    const QFont font = fonts::smallNumbers();
    painter.setFont(font);
    for (std::size_t step = 0; step < layout.count; ++step) {
        const QRectF cell = layout.column(step, part).adjusted(0.5, 0.5, -0.5, -0.5);
        if (row.relevance.empty()) {
            painter.fillRect(cell, theme[Role::Alt]);
            continue;
        }
        const QRgb ground = chart.map.at(chart.scale.toUnit(row.relevance[step]));
        painter.fillRect(cell, QColor::fromRgb(ground));
        const QString figure = valueText(row.relevance[step], 2);
        if (fonts::widthOf(font, figure) + 4 <= cell.width() && cell.height() >= px(13)) {
            painter.setPen(Theme::of(ThemeKind::Light)[qGray(ground) < 128 ? Role::Base : Role::Text]);
            painter.drawText(cell, Qt::AlignCenter, figure);
        }
    }
    if (!row.relevance.empty()) {
        paintSum(painter, part, sumOf(row.relevance), theme);
    }
    if (row.isShown) {
        painter.setPen(QPen(theme[Role::Accent], 1.5));
        painter.setBrush(Qt::NoBrush);
        painter.drawRect(part);
    }
}

void paintAxis(QPainter& painter, const StepsChart& chart, const StepsChartLayout& layout, const Theme& theme)
{
    const QFont font = fonts::small();
    painter.setFont(font);
    painter.setPen(theme[Role::Text2]);
    double behind = layout.axis.left() - 1;
    for (std::size_t step = 0; step < layout.count; ++step) {
        const QRectF column = layout.column(step, layout.axis);
        const QString word =
            chart.words.isEmpty() ? QString::number(step + 1) : chart.words.value(static_cast<qsizetype>(step));
        const double wanted = fonts::widthOf(font, word);
        if (!chart.words.isEmpty()) {
            painter.drawText(column, Qt::AlignCenter,
                             QFontMetricsF(font).elidedText(word, Qt::ElideRight, column.width()));
        } else if (column.center().x() - wanted / 2 > behind) {
            painter.drawText(QRectF(column.center().x() - wanted, column.top(), 2 * wanted, column.height()),
                             Qt::AlignCenter, word);
            behind = column.center().x() + wanted / 2 + px(4);
        }
    }
}

/// How many of `rows` the room holds beside `taken`; those near the input stay.
std::size_t rowsThatFit(std::size_t rows, double taken, double room)
{
    while (rows > 0 && taken + static_cast<double>(rows) * px(kLeastRow) > room) {
        --rows;
    }
    return rows;
}

} // namespace

StepsChart stepsChart(const RunModel& model, base::ValueId shown, const std::vector<double>& relevance,
                      const Scale& scale, const ColorMap& map)
{
    StepsChart chart;
    chart.relevance = relevance;
    chart.scale = scale;
    chart.map = map;
    const QStringList& words = model.input().words;
    chart.words = words.size() == static_cast<qsizetype>(relevance.size()) ? words : QStringList();
    chart.signal = signalOf(model, relevance.size());
    const std::vector<base::ValueId> values = stepValues(model, relevance.size());
    for (const base::ValueId value : values) {
        const base::NodeId node = model.graph().nodeOf(value);
        StepsChart::Row row{
            model.graph().isInput(node) ? model.label(value) : model.placeLabel(node), {}, value == shown};
        if (const tensor::Tensor* arrived = model.relevance(value)) {
            row.relevance = stepSums(*arrived);
        }
        chart.rows.push_back(std::move(row));
    }
    if (chart.rows.size() < 2) {
        chart.rows.clear(); // the bars say the same
    }
    return chart;
}

int StepsChartLayout::stepAt(const QPointF& point) const
{
    if (count == 0 || !steps.contains(point)) {
        return -1;
    }
    return std::clamp(static_cast<int>((point.x() - steps.left()) / steps.width() * static_cast<double>(count)), 0,
                      static_cast<int>(count) - 1);
}

QRectF StepsChartLayout::column(std::size_t step, const QRectF& part) const
{
    const double pitch = steps.width() / static_cast<double>(std::max<std::size_t>(1, count));
    return {steps.left() + static_cast<double>(step) * pitch, part.top(), pitch, part.height()};
}

StepsChartLayout layoutChart(const StepsChart& chart, const QRectF& area)
{
    StepsChartLayout layout;
    if (chart.isEmpty() || area.height() < px(kLeastHeight) || area.width() < px(kLeastWidth)) {
        return layout;
    }
    const double names = px(kNames);
    const double gap = px(kPartGap);
    layout.count = chart.relevance.size();
    layout.steps = QRectF(area.left() + names, area.top(), area.width() - names - px(kSums), area.height());
    layout.axis = QRectF(layout.steps.left(), area.bottom() - px(kAxis), layout.steps.width(), px(kAxis));
    double room = area.height() - px(kAxis);
    const double between = chart.links.empty() ? 0 : std::clamp(room * kLinksShare, 0.0, px(kMostLinksHeight) + 0.0);
    const bool hasLinks = between >= px(kLeastLinks);
    room -= hasLinks ? between + gap : 0;
    const double parts = static_cast<double>(chart.signal.size()) + 1;
    const double least = parts * (px(kLeastPart) + gap);
    const std::size_t rows = rowsThatFit(chart.rows.size(), least, room);
    const double height = rows == 0 ? 0
                                    : std::clamp((room - least) * 0.6 / static_cast<double>(rows),
                                                 static_cast<double>(px(kLeastRow)), static_cast<double>(px(kMostRow)));
    const double below = height * static_cast<double>(rows);
    const double part = std::max(10.0, (room - below) / parts - gap);
    double y = area.top();
    for (std::size_t i = 0; i < chart.signal.size(); ++i) {
        layout.signal.emplace_back(layout.steps.left(), y, layout.steps.width(), part);
        y += part + gap;
    }
    layout.bars = QRectF(layout.steps.left(), y, layout.steps.width(), part);
    y += part + gap;
    if (hasLinks) {
        layout.links = QRectF(layout.steps.left(), y, layout.steps.width(), between);
        y += between + gap;
    }
    for (std::size_t i = 0; i < chart.rows.size(); ++i) {
        const bool isShown = i + rows >= chart.rows.size();
        layout.rows.emplace_back(layout.steps.left(), y, isShown ? layout.steps.width() : 0, isShown ? height : 0);
        y += isShown ? height : 0;
    }
    return layout;
}

void paintChart(QPainter& painter, const StepsChart& chart, const StepsChartLayout& layout, const Theme& theme)
{
    if (layout.isEmpty()) {
        return;
    }
    for (std::size_t i = 0; i < layout.signal.size(); ++i) {
        paintSignal(painter, chart, layout, i, theme);
    }
    paintBars(painter, chart, layout, theme);
    if (!layout.links.isEmpty()) {
        paintLinks(
            painter, chart.links, layout.links,
            [&](std::size_t word) { return layout.column(word, layout.links).center().x(); }, chart.map, theme);
        paintName(painter, layout.links, chart.linksName, theme);
        const QRectF below(layout.links.left() - px(kNames), layout.links.center().y() + px(8), px(kNames) - px(6),
                           px(32));
        painter.setFont(fonts::small());
        painter.setPen(theme[Role::Text3]);
        painter.drawText(below, Qt::AlignLeft | Qt::AlignTop | Qt::TextWordWrap,
                         heatmapText("reader above, source below"));
    }
    for (std::size_t i = 0; i < layout.rows.size(); ++i) {
        if (layout.rows[i].height() > 0) {
            paintRow(painter, chart, layout, i, theme);
        }
    }
    paintAxis(painter, chart, layout, theme);
}

} // namespace retro::views
