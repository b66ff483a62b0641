// SPDX-License-Identifier: Apache-2.0
#include "views/common/widgets/stepstrip.h"

#include "views/common/numbertext.h"
#include "views/common/paint/fonts.h"

#include <QFontMetricsF>
#include <QPainter>

#include <algorithm>

namespace retro::views
{

namespace
{

constexpr double kCellGap = 3;
constexpr double kPadding = 6;
constexpr int kDigits = 2;
/// Darker than this takes light text.
constexpr double kDark = 0.5;

double figureHeight() { return std::ceil(QFontMetricsF(fonts::smallNumbers()).height()); }

double wordHeight() { return std::ceil(QFontMetricsF(fonts::label()).height()); }

QString figureOf(double value) { return valueText(value, kDigits); }

double cellWidth(const StepStrip& strip, std::size_t step)
{
    return std::ceil(std::max(fonts::widthOf(fonts::label(QFont::DemiBold), strip.word(step)),
                              fonts::widthOf(fonts::smallNumbers(), figureOf(strip.values[step])))) +
           2 * fonts::px(kPadding);
}

std::vector<double> cellWidths(const StepStrip& strip)
{
    std::vector<double> widths(strip.values.size());
    for (std::size_t step = 0; step < widths.size(); ++step) {
        widths[step] = cellWidth(strip, step);
    }
    if (strip.words.isEmpty() && !widths.empty()) {
        widths.assign(widths.size(), *std::max_element(widths.begin(), widths.end()));
    }
    return widths;
}

/// Text that is read on any colour of the map, in both themes: the ground is the map's, not the theme's.
QColor textOn(QRgb ground)
{
    const double luma = (0.299 * qRed(ground) + 0.587 * qGreen(ground) + 0.114 * qBlue(ground)) / 255;
    const Theme& light = Theme::of(ThemeKind::Light);
    return light[luma < kDark ? Role::Base : Role::Text];
}

} // namespace

QString StepStrip::word(std::size_t step) const
{
    return words.isEmpty() ? countText(static_cast<std::int64_t>(step) + 1) : words.value(static_cast<int>(step));
}

std::vector<QRectF> layoutSteps(const StepStrip& strip, double width)
{
    const double gap = fonts::px(kCellGap);
    const double height = wordHeight() + figureHeight() + 2 * fonts::px(kCellGap);
    std::vector<QRectF> cells;
    double x = 0;
    double y = 0;
    for (const double wanted : cellWidths(strip)) {
        const double cell = std::min(wanted, std::max(width, 1.0));
        if (x > 0 && x + cell > width) {
            x = 0;
            y += height + gap;
        }
        cells.emplace_back(x, y, cell, height);
        x += cell + gap;
    }
    return cells;
}

QSizeF sizeOfSteps(const std::vector<QRectF>& cells)
{
    QRectF box;
    for (const QRectF& cell : cells) {
        box |= cell;
    }
    return box.size();
}

int stepAt(const std::vector<QRectF>& cells, const QPointF& point)
{
    const auto found = std::find_if(cells.begin(), cells.end(), [&](const QRectF& c) { return c.contains(point); });
    return found == cells.end() ? -1 : static_cast<int>(found - cells.begin());
}

void paintSteps(QPainter& painter, const StepStrip& strip, const std::vector<QRectF>& cells, const Theme& theme)
{
    const double padding = fonts::px(kPadding) / 2.0;
    const QFontMetricsF metrics(fonts::label(QFont::DemiBold));
    painter.save();
    painter.setRenderHint(QPainter::Antialiasing);
    for (std::size_t step = 0; step < std::min(cells.size(), strip.values.size()); ++step) {
        const QRectF& cell = cells[step];
        const QRgb ground = strip.map.at(strip.scale.toUnit(strip.values[step]));
        painter.setPen(QPen(theme[Role::Line], 1));
        painter.setBrush(QColor(ground));
        painter.drawRoundedRect(cell.adjusted(0.5, 0.5, -0.5, -0.5), 3, 3);
        const QRectF inside = cell.adjusted(padding, fonts::px(kCellGap), -padding, -fonts::px(kCellGap));
        painter.setPen(textOn(ground));
        painter.setFont(fonts::label(QFont::DemiBold));
        painter.drawText(QRectF(inside.topLeft(), QSizeF(inside.width(), wordHeight())), Qt::AlignCenter,
                         metrics.elidedText(strip.word(step), Qt::ElideRight, inside.width()));
        painter.setFont(fonts::smallNumbers());
        painter.drawText(inside.adjusted(0, wordHeight(), 0, 0), Qt::AlignCenter, figureOf(strip.values[step]));
    }
    painter.restore();
}

std::vector<double> stepSums(const tensor::Tensor& relevance)
{
    const tensor::Shape& shape = relevance.shape();
    if (shape.size() < 2 || shape.size() > 3 || shape[0] != 1 || relevance.size() == 0) {
        return {};
    }
    const tensor::Tensor plain = relevance.to(tensor::DType::Float64).contiguous();
    const std::int64_t channels = plain.size() / shape[1];
    std::vector<double> sums(static_cast<std::size_t>(shape[1]));
    for (std::int64_t i = 0; i < plain.size(); ++i) {
        sums[static_cast<std::size_t>(i / channels)] += plain.at(i);
    }
    return sums;
}

} // namespace retro::views
