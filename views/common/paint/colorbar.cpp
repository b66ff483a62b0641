// SPDX-License-Identifier: Apache-2.0
#include "views/common/paint/colorbar.h"

#include "views/common/numbertext.h"
#include "views/common/paint/fonts.h"

#include <QCoreApplication>
#include <QFontMetricsF>
#include <QPainter>

#include <algorithm>
#include <cmath>

namespace retro::views
{

namespace
{

constexpr double kBarWidth = 16;
constexpr double kOverhang = 4; // tick lines on both sides of the bar

QString barText(const char* text) { return QCoreApplication::translate("retro::views::colorbar", text); }

double tickHeight() { return std::ceil(QFontMetricsF(fonts::small()).height()); }

std::vector<double> tickValues(const ColorBarSpec& spec)
{
    const double limit = spec.scale.limit;
    if (limit <= 0) {
        return {0};
    }
    if (spec.map.isSequential()) {
        return {limit, limit / 2, 0};
    }
    return {limit, limit / 2, 0, -limit / 2, -limit};
}

double yOf(double value, const ColorBarSpec& spec, const QRectF& bar)
{
    if (spec.scale.limit <= 0) {
        return spec.map.isSequential() ? bar.bottom() : bar.center().y();
    }
    const double unit = value / spec.scale.limit;
    const double share = spec.map.isSequential() ? unit : (unit + 1) / 2;
    return bar.bottom() - share * bar.height();
}

} // namespace

QString tickText(double value, double limit)
{
    if (value == 0 || limit <= 0) {
        return QStringLiteral("0");
    }
    const int exponent = static_cast<int>(std::floor(std::log10(limit)));
    if (exponent < -4 || exponent > 5) {
        return (value > 0 ? QStringLiteral("+") : QString()) + valueText(value, 2);
    }
    return signedText(value, std::max(0, 1 - exponent));
}

QString clipText(const Scale& scale)
{
    QStringList parts;
    if (scale.clipped > 0) {
        parts.append(barText("%1 clipped").arg(countText(scale.clipped)));
    }
    if (scale.notANumber > 0) {
        parts.append(barText("%1 NaN").arg(countText(scale.notANumber)));
    }
    return parts.join(QStringLiteral(", "));
}

double colorBarWidth(const ColorBarSpec& spec)
{
    const QFont figures = fonts::smallNumbers();
    double text = 0;
    for (const double value : tickValues(spec)) {
        text = std::max(text, fonts::widthOf(figures, tickText(value, spec.scale.limit)));
    }
    const double beside = 2 * kOverhang + kBarWidth + 6 + text;
    const QFont words = fonts::small();
    return std::ceil(std::max({beside, fonts::widthOf(words, spec.upperWord), fonts::widthOf(words, spec.lowerWord),
                               fonts::widthOf(words, clipText(spec.scale))}));
}

ColorBarLayout layoutColorBar(const ColorBarSpec& spec, const QRectF& area)
{
    ColorBarLayout layout;
    const double line = tickHeight();
    const double upper = spec.upperWord.isEmpty() ? line / 2 : line + 3 + line / 3;
    const double clip = clipText(spec.scale).isEmpty() ? 0 : line;
    const double lower = (spec.lowerWord.isEmpty() ? line / 2 : line + 3 + line / 3) + clip;
    layout.bar = QRectF(std::round(area.left() + kOverhang), std::round(area.top() + upper), kBarWidth,
                        std::round(std::max(8.0, area.height() - upper - lower)));
    layout.upperWord = QRectF(area.left(), area.top(), area.width(), line);
    layout.clipText = QRectF(area.left(), area.bottom() - line, area.width(), line);
    layout.lowerWord = QRectF(area.left(), area.bottom() - clip - line, area.width(), line);
    const double least = line * 1.1;
    double last = -1e9;
    for (const double value : tickValues(spec)) {
        const double y = yOf(value, spec, layout.bar);
        const bool isEnd = value == tickValues(spec).back();
        if (y - last < least && !isEnd && value != 0) {
            continue; // too small a bar for the halves
        }
        layout.ticks.push_back({y, tickText(value, spec.scale.limit), value == 0});
        last = y;
    }
    return layout;
}

void paintColorBar(QPainter& painter, const ColorBarSpec& spec, const ColorBarLayout& layout, const Theme& theme)
{
    const QRectF& bar = layout.bar;
    painter.save();
    painter.setRenderHint(QPainter::Antialiasing, false);
    const int rows = static_cast<int>(bar.height());
    for (int row = 0; row < rows; ++row) {
        const double share = 1 - (row + 0.5) / rows;
        const double v = spec.map.isSequential() ? share : 2 * share - 1;
        // Figures stand at even distances; with a gamma the colours between them do not.
        const double color = spec.scale.limit > 0 ? spec.scale.toUnit(v * spec.scale.limit) : v;
        painter.fillRect(QRectF(bar.left(), bar.top() + row, bar.width(), 1), QColor(spec.map.at(color)));
    }
    painter.setBrush(Qt::NoBrush);
    painter.setPen(QPen(theme[Role::Strong], 1));
    painter.drawRect(QRectF(bar.left() + 0.5, bar.top() + 0.5, bar.width() - 1, bar.height() - 1));

    painter.setFont(fonts::smallNumbers());
    const double line = tickHeight();
    for (const ColorBarTick& tick : layout.ticks) {
        const double y = std::clamp(std::floor(tick.y), bar.top(), bar.bottom() - 1) + 0.5;
        painter.setPen(QPen(tick.isZero ? theme[Role::Text] : theme[Role::Strong], 1));
        painter.drawLine(QPointF(tick.isZero ? bar.left() - kOverhang : bar.right(), y),
                         QPointF(bar.right() + kOverhang, y));
        painter.setPen(theme[Role::Text2]);
        painter.drawText(QRectF(bar.right() + kOverhang + 4, y - line / 2, 200, line),
                         Qt::AlignLeft | Qt::AlignVCenter | Qt::TextSingleLine, tick.text);
    }
    painter.setFont(fonts::small());
    painter.setPen(theme[Role::Text3]);
    painter.drawText(layout.upperWord, Qt::AlignLeft | Qt::AlignVCenter | Qt::TextDontClip, spec.upperWord);
    painter.drawText(layout.lowerWord, Qt::AlignLeft | Qt::AlignVCenter | Qt::TextDontClip, spec.lowerWord);
    painter.drawText(layout.clipText, Qt::AlignLeft | Qt::AlignVCenter | Qt::TextDontClip, clipText(spec.scale));
    painter.restore();
}

} // namespace retro::views
