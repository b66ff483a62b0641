// SPDX-License-Identifier: Apache-2.0
#include "views/ledger/waterfall.h"

#include "views/common/numbertext.h"
#include "views/common/paint/fonts.h"
#include "views/common/paint/marks.h"
#include "views/ledger/ledgertranslation.h"

#include <QFontMetricsF>
#include <QPainter>

#include <algorithm>
#include <cmath>

namespace retro::views
{

namespace
{

// Below this share of the start a sum of doubles is zero.
constexpr double kNoise = 1e-12;

bool isChange(LedgerKind kind) { return kind == LedgerKind::Cause || kind == LedgerKind::Others; }

int scoreDecimals(const LedgerBooks& books)
{
    const double magnitude = std::abs(books.started);
    const int exponent = magnitude > 0 ? static_cast<int>(std::floor(std::log10(magnitude))) : 0;
    return std::clamp(3 - exponent, 0, 8);
}

// What is too small for the digits of the column keeps one of its own, so that it does not read as nothing.
QString scoreText(const LedgerBooks& books, const LedgerLine& line)
{
    const int decimals = scoreDecimals(books);
    const double magnitude = std::abs(line.amount);
    const bool isTiny = magnitude > kNoise * std::abs(books.started) && magnitude < 0.5 * std::pow(10.0, -decimals);
    if (isTiny) {
        return valueText(line.amount, 1);
    }
    const bool isGain = isChange(line.kind) && line.amount > 0;
    return (isGain ? QStringLiteral("+") : QString()) + fixedText(line.amount, decimals);
}

QString shareText(const LedgerLine& line)
{
    const double percent = line.share * 100;
    const bool isGain = isChange(line.kind) && percent >= 0.05;
    return (isGain ? QStringLiteral("+") : QString()) + fixedText(percent, 1);
}

bool isHeavy(LedgerKind kind) { return kind == LedgerKind::Started || kind == LedgerKind::Reached; }

double columnWidth(const std::vector<QString>& texts)
{
    double width = 0;
    for (const QString& text : texts) {
        width = std::max(width, fonts::widthOf(fonts::numbers(QFont::DemiBold), text));
    }
    return std::ceil(width);
}

struct Span
{
    double from = 0;
    double to = 0;
};

// Bars of all lines as shares: levels from zero, changes between the levels before and after.
std::vector<Span> spansOf(const LedgerBooks& books)
{
    std::vector<Span> spans;
    double level = 0;
    for (const LedgerLine& line : books.lines) {
        switch (line.kind) {
        case LedgerKind::Started:
            level = line.share;
            spans.push_back({0, line.share});
            break;
        case LedgerKind::Cause:
        case LedgerKind::Others:
            spans.push_back({level, level + line.share});
            level += line.share;
            break;
        case LedgerKind::OnItsWay:
        case LedgerKind::Reached:
            spans.push_back({0, line.share});
            break;
        case LedgerKind::Unexplained:
            spans.push_back({0, 0});
            break;
        }
    }
    return spans;
}

ShareAxis axisOf(const LedgerBooks& books, const std::vector<Span>& spans)
{
    double lowest = 1;
    double highest = 1;
    for (std::size_t i = 0; i < spans.size(); ++i) {
        const LedgerKind kind = books.lines[i].kind;
        if (kind == LedgerKind::Unexplained || (kind == LedgerKind::Reached && !books.isFinished)) {
            continue; // nothing has arrived yet: it would only push the axis to zero
        }
        lowest = std::min({lowest, spans[i].to, isChange(kind) ? spans[i].from : 1.0});
        highest = std::max({highest, spans[i].to, spans[i].from});
    }
    return shareAxis(lowest, highest);
}

// In full words where they fit.
QString axisNote(const WaterfallLayout& layout)
{
    const QString start = percentText(layout.axis.low, layout.axis.step < 0.01 ? 1 : 0);
    const QString full = ledgerText("axis starts at %1").arg(start);
    return fonts::widthOf(fonts::small(), full) <= layout.note.width() ? full : ledgerText("from %1").arg(start);
}

int tickCount(const ShareAxis& axis) { return static_cast<int>(std::lround((axis.high - axis.low) / axis.step)); }

/// The line at zero, which may lie outside.
int zeroTick(const ShareAxis& axis) { return static_cast<int>(std::lround(-axis.low / axis.step)); }

QString tickText(const ShareAxis& axis, int tick)
{
    const double share = tick == zeroTick(axis) ? 0 : axis.low + tick * axis.step;
    return fixedText(share * 100, axis.step < 0.01 ? 1 : 0);
}

// Every how many lines of the axis there is room for a figure.
int figureStride(const WaterfallLayout& layout, int count)
{
    const double widest = std::max(fonts::widthOf(fonts::smallNumbers(), tickText(layout.axis, 0)),
                                   fonts::widthOf(fonts::smallNumbers(), tickText(layout.axis, count)));
    const double between = layout.track.width() / std::max(1, count);
    return std::max(1, static_cast<int>(std::ceil((widest + fonts::px(4)) / between)));
}

void paintAxis(QPainter& painter, const WaterfallLayout& layout, const Theme& theme)
{
    const double bottom = layout.ruleY - 3;
    painter.setFont(fonts::smallNumbers());
    for (const AxisLine& line : axisLines(layout)) {
        const bool isMarked = line.isZero && layout.axis.low < 0; // bars go to either side of it
        paintHairline(painter, {line.x, layout.titles.bottom()}, {line.x, bottom},
                      theme[isMarked ? Role::Text3 : Role::Grid]);
        painter.setPen(theme[isMarked ? Role::Text2 : Role::Text3]);
        painter.drawText(QRectF(line.x - 30, layout.titles.top(), 60, layout.titles.height()), Qt::AlignCenter,
                         line.figure);
    }
}

void paintBar(QPainter& painter, const LedgerLine& line, const QRectF& bar, const Theme& theme)
{
    if (bar.isEmpty()) {
        return;
    }
    painter.setRenderHint(QPainter::Antialiasing, false);
    switch (line.kind) {
    case LedgerKind::Started:
        painter.fillRect(bar, theme[Role::Ink]);
        break;
    case LedgerKind::Reached:
        painter.fillRect(bar, theme[Role::Accent]);
        break;
    case LedgerKind::OnItsWay:
        painter.fillRect(bar, theme[Role::Strong]);
        break;
    case LedgerKind::Cause:
    case LedgerKind::Others:
        painter.fillRect(bar, theme[Role::SearchTint]);
        paintHatch(painter, bar, theme[Role::SearchLine]);
        painter.setPen(QPen(theme[Role::SearchLine], 1));
        painter.setBrush(Qt::NoBrush);
        painter.drawRect(bar.adjusted(0.5, 0.5, -0.5, -0.5));
        break;
    case LedgerKind::Unexplained:
        break;
    }
}

/// From the lowest level to the highest, zero between them on a line.
ShareAxis axisThroughZero(double lowest, double highest)
{
    constexpr int kMostSteps = 5; // of the levels; rounding adds one on either side
    ShareAxis axis;
    for (double power = 0.01; axis.step * kMostSteps < highest - lowest; power *= 10) {
        for (const double digit : {25.0, 50.0, 100.0, 200.0}) {
            axis.step = digit * power;
            if (axis.step * kMostSteps >= highest - lowest) {
                break;
            }
        }
    }
    axis.low = std::floor(lowest / axis.step + 1e-9) * axis.step;
    axis.high = std::ceil(highest / axis.step - 1e-9) * axis.step;
    return axis;
}

} // namespace

double ShareAxis::x(double share, const QRectF& track) const
{
    const double t = std::clamp((share - low) / (high - low), 0.0, 1.0);
    return std::round(track.left() + t * track.width());
}

ShareAxis shareAxis(double lowest, double highest)
{
    ShareAxis axis;
    const double top = std::max(1.0, highest);
    if (lowest < 0) {
        return axisThroughZero(lowest, top);
    }
    const double span = std::max(top - lowest, 0.004) * 1.6;
    for (const double step : {0.002, 0.01, 0.02, 0.05, 0.1, 0.25, 0.5, 1.0}) {
        axis.step = step;
        if (span <= 5 * step) {
            break;
        }
    }
    axis.high = std::ceil(top / axis.step - 1e-9) * axis.step;
    axis.low = std::floor((top - span) / axis.step + 1e-9) * axis.step;
    if (axis.low < 0.3) {
        axis.low = 0;
        axis.step = axis.high > 2.5 ? std::ceil(axis.high / 5) : 0.25;
        axis.high = std::ceil(axis.high / axis.step - 1e-9) * axis.step;
    }
    return axis;
}

std::vector<AxisLine> axisLines(const WaterfallLayout& layout)
{
    const ShareAxis& axis = layout.axis;
    const int count = tickCount(axis);
    const int stride = figureStride(layout, count);
    const int kept = axis.low < 0 ? zeroTick(axis) : count;
    std::vector<AxisLine> lines;
    for (int i = 0; i <= count; ++i) {
        const bool hasFigure = (i - kept) % stride == 0;
        lines.push_back({axis.x(axis.low + i * axis.step, layout.track), hasFigure ? tickText(axis, i) : QString(),
                         i == zeroTick(axis)});
    }
    return lines;
}

/// Of a row, when `rows` of them have `room` pixels; no room = all that they like.
static double rowHeightIn(double room, std::size_t rows)
{
    const double text = std::ceil(QFontMetricsF(fonts::label()).height());
    const double usual = text + fonts::px(6);
    return room <= 0 ? usual : std::clamp(std::floor(room / static_cast<double>(rows)), text + 1, usual);
}

WaterfallLayout layoutWaterfall(const LedgerBooks& books, const QRectF& area)
{
    constexpr double kRuleRoom = 4;    // around the line above the last row
    constexpr double kLeastTrack = 48; // of the bars, beside scores
    WaterfallLayout layout;
    const std::vector<Span> spans = spansOf(books);
    layout.axis = axisOf(books, spans);
    std::vector<QString> shares{QStringLiteral("%")};
    std::vector<QString> scores{ledgerText("score")};
    double nameWidth = 0;
    for (const LedgerLine& line : books.lines) {
        shares.push_back(shareText(line));
        scores.push_back(scoreText(books, line));
        nameWidth = std::max(nameWidth, fonts::widthOf(fonts::label(QFont::DemiBold), line.name));
    }
    const double gap = fonts::px(12);
    const double shareWidth = columnWidth(shares);
    const double figures = columnWidth(scores);
    // In a narrow pane names and shares stay whole and keep their bars; the scores give way.
    const double least = std::ceil(nameWidth) + gap + fonts::px(kLeastTrack) + gap + shareWidth;
    const bool hasScores = least + gap + figures <= area.width();
    const double scoreWidth = hasScores ? figures : 0;
    nameWidth = std::min(std::ceil(nameWidth), std::max(area.width() * 0.4, area.width() - (least - nameWidth)));
    const double percentLeft = area.right() - scoreWidth - (hasScores ? gap : 0) - shareWidth;
    const double trackLeft = area.left() + nameWidth + gap;
    const double titleHeight = std::ceil(QFontMetricsF(fonts::smallNumbers()).height()) + 2;
    const bool isBounded = area.height() > 0;
    const double rowHeight =
        rowHeightIn(isBounded ? std::max(1.0, area.height() - titleHeight - kRuleRoom) : 0, books.lines.size());
    const double thick = std::round(rowHeight * 0.62);
    layout.track = QRectF(trackLeft, area.top(), std::max(8.0, percentLeft - gap - trackLeft), 0);
    layout.titles = QRectF(trackLeft, area.top(), layout.track.width(), titleHeight);
    layout.percentTitle = QRectF(percentLeft, area.top(), shareWidth, titleHeight);
    layout.scoreTitle = QRectF(area.right() - scoreWidth, area.top(), scoreWidth, titleHeight);
    double y = area.top() + titleHeight;
    for (std::size_t i = 0; i < books.lines.size(); ++i) {
        if (books.lines[i].kind == LedgerKind::Unexplained) {
            layout.ruleY = y + kRuleRoom / 2;
            y += kRuleRoom;
        }
        WaterfallRow row;
        row.row = QRectF(area.left(), y, area.width(), rowHeight);
        row.name = QRectF(area.left(), y, nameWidth, rowHeight);
        row.percent = QRectF(percentLeft, y, shareWidth, rowHeight);
        row.score = QRectF(area.right() - scoreWidth, y, scoreWidth, rowHeight);
        const double from = layout.axis.x(std::min(spans[i].from, spans[i].to), layout.track);
        const double to = layout.axis.x(std::max(spans[i].from, spans[i].to), layout.track);
        if (spans[i].from != spans[i].to) {
            row.bar = QRectF(from, std::round(y + (rowHeight - thick) / 2), std::max(1.5, to - from), thick);
        }
        layout.rows.push_back(row);
        y += rowHeight;
    }
    // Beside the name of its row, which is short: a narrow track has no room for it.
    const double besideName =
        area.left() + fonts::px(8) + std::min(nameWidth, fonts::widthOf(fonts::label(), books.lines.back().name));
    const double noteLeft = std::min(layout.track.left(), besideName);
    layout.note = QRectF(noteLeft, y - rowHeight, layout.track.right() - noteLeft, rowHeight);
    layout.height = y - area.top();
    return layout;
}

void paintWaterfall(QPainter& painter, const LedgerBooks& books, const WaterfallLayout& layout, const Theme& theme)
{
    constexpr auto kRight = Qt::AlignRight | Qt::AlignVCenter;
    painter.save();
    paintAxis(painter, layout, theme);
    painter.setPen(theme[Role::Text3]);
    painter.setFont(fonts::small());
    painter.drawText(layout.percentTitle, kRight, QStringLiteral("%"));
    const bool hasScores = layout.scoreTitle.width() > 0;
    if (hasScores) {
        painter.drawText(layout.scoreTitle, kRight, ledgerText("score"));
    }
    for (std::size_t i = 0; i < books.lines.size(); ++i) {
        const LedgerLine& line = books.lines[i];
        const WaterfallRow& row = layout.rows[i];
        const QFont::Weight weight = isHeavy(line.kind) ? QFont::DemiBold : QFont::Normal;
        const QFont font = fonts::label(weight);
        painter.setFont(font);
        painter.setPen(theme[Role::Text]);
        painter.drawText(row.name, Qt::AlignLeft | Qt::AlignVCenter,
                         QFontMetricsF(font).elidedText(line.name, Qt::ElideMiddle, row.name.width()));
        painter.setFont(fonts::numbers(weight));
        painter.drawText(row.percent, kRight, shareText(line));
        if (hasScores) {
            painter.setFont(fonts::numbers());
            painter.setPen(theme[Role::Text2]);
            painter.drawText(row.score, kRight, scoreText(books, line));
        }
        paintBar(painter, line, row.bar, theme);
    }
    paintHairline(painter, {layout.rows.front().row.left(), layout.ruleY},
                  {layout.rows.front().row.right(), layout.ruleY}, theme[Role::Line]);
    if (layout.axis.isCut()) {
        painter.setFont(fonts::small());
        painter.setPen(theme[Role::Text3]);
        painter.drawText(layout.note, kRight, axisNote(layout));
    }
    painter.restore();
}

} // namespace retro::views
