// SPDX-License-Identifier: Apache-2.0
#include "views/inspector/inspectorpanes.h"

#include "views/common/numbertext.h"
#include "views/common/paint/fonts.h"
#include "views/common/paint/marks.h"

#include <QFontMetricsF>
#include <QPainter>

#include <algorithm>
#include <array>
#include <cmath>

namespace retro::views
{

namespace
{

/// Of a body that is about to change.
constexpr double kPendingOpacity = 0.4;

constexpr auto kLeft = Qt::AlignLeft | Qt::AlignVCenter;
constexpr auto kRight = Qt::AlignRight | Qt::AlignVCenter;

double lineHeight() { return std::ceil(QFontMetricsF(fonts::label()).height()) + fonts::px(3); }

void drawLine(QPainter& painter, const QRectF& box, int alignment, const QFont& font, const QColor& color,
              const QString& text)
{
    painter.setFont(font);
    painter.setPen(color);
    painter.drawText(box, alignment | Qt::TextSingleLine,
                     QFontMetricsF(font).elidedText(text, Qt::ElideMiddle, box.width()));
}

/// Parts between dots, as many on a line as fit: a line that is elided would say neither operator nor rule.
QStringList wrapped(const QString& text, double width)
{
    const QString dot = QStringLiteral(" · ");
    QStringList lines;
    for (const QString& part : text.split(dot)) {
        const QString longer = lines.isEmpty() ? part : lines.back() + dot + part;
        if (!lines.isEmpty() && fonts::widthOf(fonts::label(), longer) <= width) {
            lines.back() = longer;
        } else {
            lines.append(part);
        }
    }
    return lines;
}

Role fillOf(BalanceLine::Kind kind)
{
    switch (kind) {
    case BalanceLine::Kind::Arrived:
        return Role::Ink;
    case BalanceLine::Kind::HandedOn:
        return Role::Accent;
    case BalanceLine::Kind::Cause:
    case BalanceLine::Kind::Unexplained:
        break;
    }
    return Role::SearchLine;
}

} // namespace

InspectorPane::InspectorPane(const QString& title, QWidget* parent) : QWidget(parent), m_title(title)
{
    // Not Fixed: a layout would then cut the height for the width back to that of the size hint.
    QSizePolicy policy(QSizePolicy::Expanding, QSizePolicy::Preferred);
    policy.setHeightForWidth(true);
    setSizePolicy(policy);
    setAccessibleName(title);
}

void InspectorPane::setNote(const QString& note)
{
    m_note = note;
    update();
}

double InspectorPane::titleHeight() const { return m_title.isEmpty() ? 0 : fonts::px(26); }

int InspectorPane::heightForWidth(int width) const
{
    return static_cast<int>(std::ceil(titleHeight() + bodyHeight(width - 2 * fonts::px(10)))) + fonts::px(8);
}

QSize InspectorPane::sizeHint() const { return {fonts::px(320), heightForWidth(fonts::px(320))}; }

void InspectorPane::bodyChanged()
{
    updateGeometry();
    update();
}

void InspectorPane::paintEvent(QPaintEvent* /*event*/)
{
    const Theme& colors = theme(this);
    QPainter painter(this);
    const double margin = fonts::px(10);
    const QRectF area = QRectF(rect()).adjusted(margin, 0, -margin, 0);
    if (!m_title.isEmpty()) {
        paintHairline(painter, {0, 0}, {double(width()), 0}, colors[Role::Line]);
        const QRectF title(area.left(), 1, area.width(), titleHeight() - 1);
        drawLine(painter, title, kLeft, fonts::label(QFont::DemiBold), colors[Role::Text], m_title);
        drawLine(painter, title.adjusted(area.width() * 0.3, 0, 0, 0), kRight, fonts::small(), colors[Role::Text3],
                 m_note);
    }
    painter.setOpacity(m_isPending ? kPendingOpacity : 1);
    paintBody(painter, {area.left(), titleHeight(), area.width(), bodyHeight(area.width())}, colors);
}

void InspectorPane::setPending(bool isPending)
{
    if (m_isPending != isPending) {
        m_isPending = isPending;
        update();
    }
}

void HeadPane::setFacts(const NodeFacts& facts)
{
    m_facts = facts;
    setAccessibleName(facts.name);
    setAccessibleDescription(facts.rule + QStringLiteral(", ") + wordOf(facts.mode) + QStringLiteral(", ") +
                             facts.visit);
    const QString notes = facts.notes.isEmpty() ? QString() : QLatin1Char('\n') + facts.notes;
    setToolTip(
        (facts.name + QLatin1Char('\n') + facts.rule + notes).toHtmlEscaped().replace(u'\n', QStringLiteral("<br>")));
    bodyChanged();
}

double HeadPane::bodyHeight(double width) const
{
    return fonts::px(8) + static_cast<double>(1 + wrapped(m_facts.rule, width).size()) * lineHeight() + fonts::px(4);
}

void HeadPane::paintBody(QPainter& painter, const QRectF& body, const Theme& theme)
{
    const double line = lineHeight();
    const QFont note = fonts::label();
    const double noteWidth = std::ceil(fonts::widthOf(note, m_facts.visit)) + 1;
    const double mark = fonts::px(16);
    const QRectF first(body.left(), body.top() + fonts::px(8), body.width(), line);
    drawLine(painter, first.adjusted(0, 0, -noteWidth - mark - fonts::px(14), 0), kLeft,
             fonts::content(QFont::DemiBold), theme[Role::Text], m_facts.name);
    const QRectF markBox(first.right() - noteWidth - mark - fonts::px(6), std::round(first.center().y() - mark / 2),
                         mark, mark);
    paintModeMark(painter, markBox, m_facts.mode, theme);
    drawLine(painter, first, kRight, note, theme[Role::Text2], m_facts.visit);
    QRectF next = first.translated(0, line + fonts::px(2));
    for (const QString& words : wrapped(m_facts.rule, body.width())) {
        drawLine(painter, next, kLeft, fonts::label(), theme[Role::Text3], words);
        next.translate(0, line);
    }
}

void StatsPane::setStats(const TensorStats& stats)
{
    m_stats = stats;
    setAccessibleName(tr("Figures"));
    setAccessibleDescription(tr("Sum %1, minimum %2, maximum %3")
                                 .arg(valueText(stats.sum), valueText(stats.smallest), valueText(stats.largest)));
    bodyChanged();
}

double StatsPane::bodyHeight(double /*width*/) const { return 3 * lineHeight(); }

void StatsPane::paintBody(QPainter& painter, const QRectF& body, const Theme& theme)
{
    struct Cell
    {
        QString name;
        QString text;
    };
    const QString odd = QStringLiteral("%1, %2").arg(countText(m_stats.nan), countText(m_stats.infinite));
    const std::array<Cell, 6> cells{{{tr("Sum"), valueText(m_stats.sum)},
                                     {tr("Mean"), valueText(m_stats.mean)},
                                     {tr("Min"), valueText(m_stats.smallest)},
                                     {tr("L2 norm"), valueText(m_stats.norm)},
                                     {tr("Max"), valueText(m_stats.largest)},
                                     {tr("NaN, Inf"), odd}}};
    const double gap = fonts::px(20);
    const double width = (body.width() - gap) / 2;
    const bool hasOdd = m_stats.nan + m_stats.infinite > 0;
    for (std::size_t i = 0; i < cells.size(); ++i) {
        const QRectF box(body.left() + (i % 2 == 0 ? 0 : width + gap),
                         body.top() + static_cast<double>(i / 2) * lineHeight(), width, lineHeight());
        drawLine(painter, box, kLeft, fonts::label(), theme[Role::Text2], cells[i].name);
        const Role role = i + 1 == cells.size() && hasOdd ? Role::AlarmText : Role::Text;
        drawLine(painter, box, kRight, fonts::numbers(), theme[role], cells[i].text);
    }
}

HistogramPane::HistogramPane(QWidget* parent) : InspectorPane(tr("Histogram"), parent)
{
    setNote(tr("count on a log scale"));
}

void HistogramPane::setHistogram(Histogram histogram)
{
    m_histogram = std::move(histogram);
    bodyChanged();
}

double HistogramPane::bodyHeight(double /*width*/) const { return fonts::px(96); }

void HistogramPane::paintBody(QPainter& painter, const QRectF& body, const Theme& theme)
{
    if (m_histogram.counts.empty()) {
        return;
    }
    const double figures = std::ceil(QFontMetricsF(fonts::smallNumbers()).height()) + 3;
    const QRectF chart(body.left(), body.top(), body.width(), body.height() - figures);
    painter.setRenderHint(QPainter::Antialiasing, false);
    for (std::size_t i = 0; i < m_histogram.counts.size(); ++i) {
        paintBin(painter, i, chart, theme);
    }
    paintHairline(painter, chart.bottomLeft(), chart.bottomRight(), theme[Role::Strong]);
    const double middle = (m_histogram.low + m_histogram.high) / 2;
    const QRectF axis(chart.left(), chart.bottom() + 2, chart.width(), figures);
    const QFont font = fonts::smallNumbers();
    drawLine(painter, axis, kLeft, font, theme[Role::Text3], valueText(m_histogram.low, 2));
    drawLine(painter, axis, Qt::AlignCenter, font, theme[Role::Text3], valueText(middle, 2));
    drawLine(painter, axis, kRight, font, theme[Role::Text3], valueText(m_histogram.high, 2));
}

void HistogramPane::paintBin(QPainter& painter, std::size_t bin, const QRectF& chart, const Theme& theme) const
{
    if (m_histogram.counts[bin] == 0) {
        return;
    }
    const double pitch = chart.width() / static_cast<double>(m_histogram.counts.size());
    const double height = std::max(1.0, std::round(m_histogram.heightOf(bin) * chart.height()));
    const double left = std::round(chart.left() + static_cast<double>(bin) * pitch);
    const double right = std::round(chart.left() + static_cast<double>(bin + 1) * pitch);
    const double magnitude = std::max(std::abs(m_histogram.low), std::abs(m_histogram.high));
    const double v = magnitude > 0 ? m_histogram.valueOf(bin) / magnitude : 0;
    static const ColorMap map;
    // Around zero the map is nearly white: those bars are grey, so that they are seen on both grounds.
    const QColor fill = std::abs(v) < 0.02 ? theme[Role::Strong] : QColor(map.at(std::copysign(0.25, v) + 0.6 * v));
    painter.fillRect(QRectF(left, chart.bottom() - height, std::max(1.0, right - left - 1), height), fill);
}

SlicePane::SlicePane(QWidget* parent) : InspectorPane(tr("Slice"), parent) {}

void SlicePane::setGrid(const SliceGrid& grid, bool isRelevance)
{
    m_plane = grid.plane;
    m_image = heatmapOnly(m_plane, symmetricScale(m_plane.values, 99.9), ColorMap());
    setToolTip(isRelevance ? tr("Relevance, one square per value") : tr("Values, one square per value"));
    const QString shape = QStringLiteral("%1 × %2").arg(grid.sliceHeight).arg(grid.sliceWidth);
    if (grid.allSlices > grid.slices) {
        setNote(tr("%1 of %2 slices, %3").arg(countText(grid.slices), countText(grid.allSlices), shape));
    } else {
        setNote(grid.allSlices > 1 ? tr("%1 slices, %2").arg(countText(grid.allSlices), shape) : shape);
    }
    bodyChanged();
}

QSizeF SlicePane::pictureSize(const Plane& plane, double width, double most)
{
    if (plane.isEmpty() || width <= 0) {
        return {};
    }
    const double exact = std::min({width / plane.width, most / plane.height, 24.0});
    const double pixel = exact >= 1 ? std::floor(exact) : exact;
    return {plane.width * pixel, plane.height * pixel};
}

double SlicePane::bodyHeight(double width) const
{
    return std::max<double>(pictureSize(m_plane, width, fonts::px(170)).height(), 8) + fonts::px(2);
}

void SlicePane::paintBody(QPainter& painter, const QRectF& body, const Theme& theme)
{
    const QSizeF size = pictureSize(m_plane, body.width(), fonts::px(170));
    if (size.isEmpty()) {
        return;
    }
    const QRectF box(QPointF(std::round(body.left()), body.top()), size);
    painter.setRenderHint(QPainter::SmoothPixmapTransform, m_image.width() > size.width());
    painter.drawImage(box, m_image);
    painter.setPen(QPen(theme[Role::Strong], 1));
    painter.setBrush(Qt::NoBrush);
    painter.drawRect(box.adjusted(-0.5, -0.5, 0.5, 0.5));
}

BalancePane::BalancePane(QWidget* parent) : InspectorPane(tr("Balance of this node"), parent) {}

// All amounts with the digits of what arrived; what is too small for them keeps two digits of its own.
QString BalancePane::amountText(const BalanceLine& line) const
{
    const double arrived = std::abs(m_lines.front().amount);
    const int exponent = arrived > 0 ? static_cast<int>(std::floor(std::log10(arrived))) : 0;
    if (exponent < -5 || exponent > 6) {
        return valueText(line.amount, 3);
    }
    const int decimals = std::max(0, 3 - exponent);
    const bool isTiny = line.amount != 0 && std::abs(line.amount) < 0.5 * std::pow(10.0, -decimals);
    return isTiny ? valueText(line.amount, 2) : fixedText(line.amount, decimals);
}

void BalancePane::setBalance(std::vector<BalanceLine> lines, const QString& otherwise)
{
    m_lines = std::move(lines);
    m_otherwise = otherwise;
    bodyChanged();
}

double BalancePane::bodyHeight(double /*width*/) const
{
    return static_cast<double>(std::max<std::size_t>(m_lines.size(), 1)) * (lineHeight() + fonts::px(2));
}

void BalancePane::paintBody(QPainter& painter, const QRectF& body, const Theme& theme)
{
    const double pitch = lineHeight() + fonts::px(2);
    if (m_lines.empty()) {
        drawLine(painter, {body.left(), body.top(), body.width(), pitch}, kLeft, fonts::label(), theme[Role::Text2],
                 m_otherwise);
        return;
    }
    Columns columns;
    for (const BalanceLine& line : m_lines) {
        columns.amount = std::max(columns.amount, std::ceil(fonts::widthOf(fonts::numbers(), amountText(line))) + 1);
        columns.name = std::max(columns.name, std::ceil(fonts::widthOf(fonts::label(), line.name)) + 1);
    }
    columns.name = std::min(columns.name, body.width() * 0.4);
    columns.share = std::ceil(fonts::widthOf(fonts::numbers(), QStringLiteral("−100.0 %")));
    QRectF row(body.left(), body.top(), body.width(), pitch);
    for (const BalanceLine& line : m_lines) {
        paintLine(painter, line, row, columns, theme);
        row.translate(0, pitch);
    }
}

void BalancePane::paintLine(QPainter& painter, const BalanceLine& line, const QRectF& row, const Columns& columns,
                            const Theme& theme) const
{
    const double gap = fonts::px(8);
    const QRectF share(row.right() - columns.share, row.top(), columns.share, row.height());
    const QRectF amount(share.left() - gap - columns.amount, row.top(), columns.amount, row.height());
    const double barLeft = row.left() + columns.name + gap;
    const QRectF bar(barLeft, std::round(row.center().y() - 4.5), amount.left() - gap - barLeft, 9);
    drawLine(painter, {row.left(), row.top(), columns.name, row.height()}, kLeft, fonts::label(), theme[Role::Text],
             line.name);
    if (bar.width() > 12) {
        paintShareBar(painter, bar, line.share, theme[fillOf(line.kind)], theme);
    }
    drawLine(painter, amount, kRight, fonts::numbers(), theme[Role::Text], amountText(line));
    drawLine(painter, share, kRight, fonts::numbers(), theme[Role::Text2], percentText(line.share));
}

} // namespace retro::views

#include "moc_inspectorpanes.cpp"
