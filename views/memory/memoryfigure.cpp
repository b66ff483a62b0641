// SPDX-License-Identifier: Apache-2.0
#include "views/memory/memoryfigure.h"

#include "views/common/csv.h"
#include "views/common/numbertext.h"
#include "views/common/paint/colormap.h"
#include "views/common/paint/fonts.h"
#include "views/common/paint/plane.h"
#include "views/common/paint/theme.h"
#include "views/memory/memoryview.h"

#include <QPainter>

#include <algorithm>
#include <array>
#include <cmath>
#include <map>
#include <numeric>

namespace retro::views
{

using fonts::px;

namespace
{

constexpr double kLabels = 104; ///< room at the left
constexpr double kFigures = 62; ///< and at the right
constexpr double kAxis = 16;    ///< below: the steps
constexpr double kGap = 6;      ///< between the cells and what all of them carry
constexpr double kLeastRow = 5; ///< of a unit
constexpr double kMostRow = 26;
constexpr double kCarriedPart = 0.3; ///< of the height

/// One step of one direction, by the name that its member has: NODE/forward/3/new cell.
struct StepName
{
    bool isBackward = false;
    int step = 0;
};

std::optional<StepName> stepOf(const QString& member, const QString& ending)
{
    if (!member.endsWith(QLatin1Char('/') + ending)) {
        return std::nullopt;
    }
    const QStringList parts = member.split(QLatin1Char('/'));
    bool isNumber = false;
    const int step = parts.size() < 3 ? 0 : parts[parts.size() - 2].toInt(&isNumber);
    if (!isNumber || step < 0) {
        return std::nullopt;
    }
    return StepName{parts[parts.size() - 3] == QLatin1String("backward"), step};
}

/// Σ over everything before the last axis.
std::vector<double> unitSums(const tensor::Tensor& relevance)
{
    const std::int64_t units = relevance.rank() == 0 ? 1 : relevance.shape().back();
    std::vector<double> sums(static_cast<std::size_t>(std::max<std::int64_t>(units, 0)), 0);
    for (std::int64_t i = 0; i < relevance.size(); ++i) {
        sums[static_cast<std::size_t>(i % units)] += relevance.at(i);
    }
    return sums;
}

using Steps = std::map<int, std::vector<double>>;

MemoryFigure figureOf(const FusedNode& fused, const Steps& steps, bool isCell, bool isBackward)
{
    MemoryFigure figure{fused.node, isCell, isBackward, {}, {}};
    const auto count = static_cast<std::size_t>(steps.rbegin()->first) + 1;
    figure.carried.resize(count, 0);
    for (const auto& [step, sums] : steps) {
        for (std::size_t unit = 0; unit < sums.size(); ++unit) {
            if (figure.units.size() <= unit) {
                figure.units.push_back({static_cast<std::int64_t>(unit), std::vector<double>(count, 0)});
            }
            figure.units[unit].steps[static_cast<std::size_t>(step)] = sums[unit];
            figure.carried[static_cast<std::size_t>(step)] += sums[unit];
        }
    }
    const auto weight = [](const MemoryUnit& unit) {
        return std::accumulate(unit.steps.begin(), unit.steps.end(), 0.0,
                               [](double sum, double part) { return sum + std::abs(part); });
    };
    std::ranges::stable_sort(figure.units,
                             [&](const MemoryUnit& a, const MemoryUnit& b) { return weight(a) > weight(b); });
    return figure;
}

/// Where the parts of the drawing lie.
struct MemoryPlaces
{
    QRectF cells;
    QRectF carried;
    double step = 0; ///< width
    double row = 0;  ///< height
    int rows = 0;    ///< units that are drawn

    MemoryPlaces(const MemoryFigure& figure, const QRectF& room)
    {
        const double width = std::max(1.0, room.width() - px(kLabels) - px(kFigures));
        const double height = std::max(1.0, room.height() - px(kAxis) - px(kGap));
        const double chart = height * kCarriedPart;
        const auto units = static_cast<int>(figure.units.size());
        rows = std::clamp(static_cast<int>((height - chart) / px(kLeastRow)), 1, std::max(1, units));
        row = std::min<double>(px(kMostRow), (height - chart) / rows);
        step = width / std::max(1, figure.stepCount());
        cells = {room.left() + px(kLabels), room.top(), width, row * rows};
        carried = {cells.left(), cells.bottom() + px(kGap), width, height - cells.height()};
    }
};

double largestOf(const MemoryFigure& figure)
{
    double largest = 0;
    for (const MemoryUnit& unit : figure.units) {
        for (const double part : unit.steps) {
            largest = std::isfinite(part) ? std::max(largest, std::abs(part)) : largest;
        }
    }
    return largest;
}

void paintCells(QPainter& painter, const MemoryFigure& figure, const MemoryPlaces& places, const Theme& theme)
{
    const double largest = largestOf(figure);
    const ColorMap colors;
    const double gap = std::min(places.row, places.step) >= 5 ? 1 : 0;
    for (int row = 0; row < places.rows; ++row) {
        const MemoryUnit& unit = figure.units[static_cast<std::size_t>(row)];
        for (int step = 0; step < figure.stepCount(); ++step) {
            const double part = unit.steps[static_cast<std::size_t>(step)];
            painter.fillRect(QRectF(places.cells.left() + step * places.step, places.cells.top() + row * places.row,
                                    places.step - gap, places.row - gap),
                             QColor(colors.at(largest > 0 ? part / largest : 0)));
        }
    }
    painter.setPen(theme[Role::Strong]);
    painter.setBrush(Qt::NoBrush);
    painter.drawRect(places.cells);
}

void paintUnitNames(QPainter& painter, const MemoryFigure& figure, const MemoryPlaces& places, const QRectF& room,
                    const Theme& theme)
{
    const auto units = static_cast<int>(figure.units.size());
    const QRectF words(room.left(), places.cells.top(), px(kLabels) - px(34), px(48));
    painter.setFont(fonts::label(QFont::DemiBold));
    painter.setPen(theme[Role::Text]);
    painter.drawText(words, Qt::AlignLeft | Qt::AlignTop,
                     figure.isCell ? MemoryView::tr("Cell state") : MemoryView::tr("State"));
    painter.setFont(fonts::small());
    painter.setPen(theme[Role::Text2]);
    painter.drawText(words.adjusted(0, px(15), 0, 0), Qt::AlignLeft | Qt::AlignTop,
                     places.rows < units ? MemoryView::tr("%1 of %2 units").arg(places.rows).arg(units)
                                         : MemoryView::tr("%n units", nullptr, units));
    painter.setFont(fonts::smallNumbers());
    painter.setPen(theme[Role::Text3]);
    const int every = std::max(1, static_cast<int>(std::ceil(px(12) / places.row)));
    for (int row = 0; row < places.rows; row += every) {
        const QRectF place(room.left(), places.cells.top() + row * places.row, px(kLabels) - px(6), px(12));
        painter.drawText(place, Qt::AlignRight | Qt::AlignVCenter,
                         QString::number(figure.units[static_cast<std::size_t>(row)].index));
    }
    painter.drawText(QRectF(places.cells.right() + px(6), places.cells.top(), px(kFigures), px(14)), Qt::AlignLeft,
                     QStringLiteral("±") + valueText(largestOf(figure), 3));
}

/// What all units carry, as steps; the axis is at zero.
void paintCarried(QPainter& painter, const MemoryFigure& figure, const MemoryPlaces& places, const QRectF& room,
                  const Theme& theme)
{
    const auto [least, most] = std::ranges::minmax(figure.carried);
    const double low = std::min(0.0, least);
    const double range = std::max(1e-300, std::max(0.0, most) - low);
    const QRectF box = places.carried;
    const auto yOf = [&](double value) { return box.bottom() - box.height() * (value - low) / range; };
    const ColorMap colors;
    for (int step = 0; step < figure.stepCount(); ++step) {
        const double value = figure.carried[static_cast<std::size_t>(step)];
        const double left = box.left() + step * places.step;
        painter.fillRect(
            QRectF(QPointF(left, yOf(std::max(0.0, value))), QPointF(left + places.step, yOf(std::min(0.0, value)))),
            QColor(colors.at(value < 0 ? -0.35 : 0.35)));
    }
    painter.setPen(theme[Role::Strong]);
    painter.drawLine(QPointF(box.left(), yOf(0)), QPointF(box.right(), yOf(0)));
    painter.setFont(fonts::label(QFont::DemiBold));
    painter.setPen(theme[Role::Text]);
    painter.drawText(QRectF(room.left(), box.top(), px(kLabels), px(15)), Qt::AlignLeft | Qt::AlignTop,
                     MemoryView::tr("Carried back"));
    painter.setFont(fonts::small());
    painter.setPen(theme[Role::Text2]);
    painter.drawText(QRectF(room.left(), box.top() + px(15), px(kLabels), px(15)), Qt::AlignLeft | Qt::AlignTop,
                     MemoryView::tr("Σ of the state"));
    painter.setFont(fonts::smallNumbers());
    painter.setPen(theme[Role::Text3]);
    const QRectF figures(box.right() + px(6), box.top(), px(kFigures), box.height());
    painter.drawText(figures, Qt::AlignLeft | Qt::AlignTop, valueText(most, 3));
    painter.drawText(figures, Qt::AlignLeft | Qt::AlignBottom, valueText(low < 0 ? least : 0.0, 3));
}

void paintStepAxis(QPainter& painter, const MemoryFigure& figure, const MemoryPlaces& places, const QRectF& room,
                   const Theme& theme)
{
    painter.setFont(fonts::smallNumbers());
    painter.setPen(theme[Role::Text3]);
    const double widest = fonts::widthOf(fonts::smallNumbers(), QString::number(figure.stepCount())) + px(6);
    const int every = std::max(1, static_cast<int>(std::ceil(widest / places.step)));
    for (int step = 0; step < figure.stepCount(); step += every) {
        const double middle = places.cells.left() + (step + 0.5) * places.step;
        painter.drawText(QRectF(middle - widest, room.bottom() - px(kAxis), 2 * widest, px(kAxis)), Qt::AlignCenter,
                         QString::number(step + 1));
    }
}

} // namespace

std::optional<double> MemoryFigure::at(int unit, int step) const
{
    if (unit < 0 || step < 0 || unit >= static_cast<int>(units.size()) || step >= stepCount()) {
        return std::nullopt;
    }
    return units[static_cast<std::size_t>(unit)].steps[static_cast<std::size_t>(step)];
}

std::vector<base::NodeId> recurrentNodes(const graph::Graph& graph)
{
    constexpr std::array<std::string_view, 3> kRecurrent{"LSTM", "GRU", "RNN"};
    std::vector<base::NodeId> nodes;
    for (std::size_t i = 0; i < graph.nodeCount(); ++i) {
        if (std::ranges::find(kRecurrent, graph.opOf(base::NodeId(i))) != kRecurrent.end()) {
            nodes.emplace_back(i);
        }
    }
    return nodes;
}

std::vector<MemoryFigure> memoryFigures(const FusedNode& fused)
{
    std::map<bool, Steps> cells;
    std::map<bool, Steps> states;
    for (const FusedMember& member : fused.members) {
        if (!member.relevance.isValid()) {
            continue;
        }
        if (const auto cell = stepOf(member.name, QStringLiteral("new cell"))) {
            cells[cell->isBackward][cell->step] = unitSums(member.relevance);
        } else if (const auto state = stepOf(member.name, QStringLiteral("new state"))) {
            states[state->isBackward][state->step] = unitSums(member.relevance);
        }
    }
    std::vector<MemoryFigure> figures;
    for (const auto& [isBackward, steps] : cells.empty() ? states : cells) {
        figures.push_back(figureOf(fused, steps, !cells.empty(), isBackward));
    }
    return figures;
}

void paintMemory(QPainter& painter, const MemoryFigure& figure, const QRectF& room, const Theme& theme)
{
    if (figure.isEmpty()) {
        return;
    }
    const MemoryPlaces places(figure, room);
    paintCells(painter, figure, places, theme);
    paintUnitNames(painter, figure, places, room, theme);
    paintCarried(painter, figure, places, room, theme);
    paintStepAxis(painter, figure, places, room, theme);
}

QPoint memoryCellAt(const MemoryFigure& figure, const QRectF& room, double x, double y)
{
    const MemoryPlaces places(figure, room);
    if (figure.isEmpty() || !places.cells.contains(x, y)) {
        return {-1, -1};
    }
    return {std::min(figure.stepCount() - 1, static_cast<int>((x - places.cells.left()) / places.step)),
            std::min(places.rows - 1, static_cast<int>((y - places.cells.top()) / places.row))};
}

std::string memoryCsv(const std::vector<MemoryFigure>& figures)
{
    CsvText text({"direction", "unit", "step", "relevance"});
    for (const MemoryFigure& figure : figures) {
        for (const MemoryUnit& unit : figure.units) {
            for (std::size_t step = 0; step < unit.steps.size(); ++step) {
                text.row(figure.isBackward ? "backward" : "forward", unit.index, step + 1, unit.steps[step]);
            }
        }
    }
    return text.take();
}

} // namespace retro::views
