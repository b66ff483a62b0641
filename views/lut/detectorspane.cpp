// SPDX-License-Identifier: Apache-2.0
#include "views/common/numbertext.h"
#include "views/common/paint/colormap.h"
#include "views/common/paint/fonts.h"
#include "views/common/paint/theme.h"
#include "views/lut/detectorsview.h"

#include <QPainter>

#include <algorithm>
#include <array>
#include <cmath>

namespace retro::views
{

namespace
{

constexpr double kTableRow = 22;
constexpr double kTableMargin = 8;
enum Column : int { kBit, kA, kB, kFirst, kSecond, kDifference, kSets, kColumns };
/// Shares of the width.
constexpr std::array<double, kColumns> kShares{0.23, 0.08, 0.08, 0.15, 0.15, 0.23, 0.08};

QString kindWord(const trace::ComparisonRow& row)
{
    switch (row.kind) {
    case trace::ComparisonRow::Kind::Plain:
        return DetectorsPane::tr("pair %1").arg(row.number);
    case trace::ComparisonRow::Kind::Query:
        return DetectorsPane::tr("query %1").arg(row.number);
    case trace::ComparisonRow::Kind::Key:
        return DetectorsPane::tr("key %1").arg(row.number);
    case trace::ComparisonRow::Kind::Code:
        return DetectorsPane::tr("code %1").arg(row.number);
    }
    return {};
}

Role inkOf(const trace::ComparisonRow& row)
{
    return row.isUnused ? Role::Text3 : row.isWeakest ? Role::SearchText : Role::Text;
}

} // namespace

DetectorsPane::DetectorsPane(QWidget* parent) : QWidget(parent) {}

void DetectorsPane::setChoice(trace::TableChoice choice)
{
    m_choice = std::move(choice);
    m_largest = 0;
    for (const trace::ComparisonRow& row : m_choice.comparisons) {
        m_largest = std::isfinite(row.difference) ? std::max(m_largest, std::abs(row.difference)) : m_largest;
    }
    m_largestWeight = 0;
    for (const std::vector<double>* weights : {&m_choice.chosenWeights, &m_choice.otherWeights}) {
        for (const double weight : *weights) {
            m_largestWeight = std::max(m_largestWeight, std::abs(weight));
        }
    }
    setAccessibleDescription(tr("row %1, runner-up %2")
                                 .arg(m_choice.row)
                                 .arg(m_choice.runnerUp ? QString::number(*m_choice.runnerUp) : tr("none")));
    setMinimumHeight(sizeHint().height());
    update();
}

QSize DetectorsPane::sizeHint() const
{
    const int rows = static_cast<int>(m_choice.comparisons.size()) + 5;
    return {fonts::px(360), fonts::px(kTableRow) * rows + fonts::px(kTableMargin)};
}

QRectF DetectorsPane::cell(int column, double top) const
{
    const double room = width() - 2 * fonts::px(kTableMargin);
    double left = fonts::px(kTableMargin);
    for (int i = 0; i < column; ++i) {
        left += kShares[static_cast<std::size_t>(i)] * room;
    }
    return {left, top, kShares[static_cast<std::size_t>(column)] * room, double(fonts::px(kTableRow))};
}

void DetectorsPane::paintEvent(QPaintEvent*)
{
    QPainter painter(this);
    painter.fillRect(rect(), theme(this)[Role::Base]);
    if (m_choice.comparisons.empty()) {
        return;
    }
    paintHeader(painter);
    for (std::size_t i = 0; i < m_choice.comparisons.size(); ++i) {
        paintRow(painter, i);
    }
    double top = fonts::px(kTableRow) * static_cast<double>(m_choice.comparisons.size() + 1) + fonts::px(4);
    top = paintResult(painter, top);
    const QString none;
    paintWeights(painter, tr("Chosen %1").arg(m_choice.row), fixedText(m_choice.share, 3), m_choice.chosenWeights, top);
    if (m_choice.runnerUp) {
        paintWeights(painter, tr("Runner-up %1").arg(*m_choice.runnerUp), fixedText(1 - m_choice.share, 3),
                     m_choice.otherWeights, top + fonts::px(kTableRow));
    }
}

void DetectorsPane::paintHeader(QPainter& painter) const
{
    const Theme& colors = theme(this);
    painter.fillRect(QRectF(0, 0, width(), fonts::px(kTableRow)), colors[Role::Header]);
    painter.setFont(fonts::label(QFont::DemiBold));
    painter.setPen(colors[Role::Text2]);
    const std::array<QString, kColumns> names{tr("Bit"),  QStringLiteral("a"), QStringLiteral("b"), tr("x[a]"),
                                              tr("x[b]"), tr("x[a] − x[b]"),   tr("Sets")};
    for (int i = 0; i < kColumns; ++i) {
        const auto align = i == kBit ? Qt::AlignLeft : i == kDifference ? Qt::AlignHCenter : Qt::AlignRight;
        painter.drawText(cell(i, 0), align | Qt::AlignVCenter, names[static_cast<std::size_t>(i)]);
    }
}

void DetectorsPane::paintRow(QPainter& painter, std::size_t index) const
{
    const Theme& colors = theme(this);
    const trace::ComparisonRow& row = m_choice.comparisons[index];
    const double top = fonts::px(kTableRow) * static_cast<double>(index + 1);
    const QRectF all(0, top, width(), fonts::px(kTableRow));
    if (row.isWeakest || index % 2 == 1) {
        painter.fillRect(all, row.isWeakest ? colors[Role::SearchTint] : colors[Role::Alt]);
    }
    painter.setFont(fonts::label());
    painter.setPen(colors[inkOf(row)]);
    const QString weakest = tr("%1, weakest").arg(kindWord(row)); // where there is room: the colour says it, too
    const bool isSaid = row.isWeakest && painter.fontMetrics().horizontalAdvance(weakest) <= cell(kBit, top).width();
    painter.drawText(cell(kBit, top), Qt::AlignLeft | Qt::AlignVCenter, isSaid ? weakest : kindWord(row));
    if (row.isUnused) {
        painter.drawText(cell(kDifference, top), Qt::AlignHCenter | Qt::AlignVCenter, tr("unused"));
        return;
    }
    paintFigures(painter, row, top);
    paintBar(painter, row, cell(kDifference, top));
}

void DetectorsPane::paintFigures(QPainter& painter, const trace::ComparisonRow& row, double top) const
{
    painter.setFont(fonts::numbers());
    const auto right = Qt::AlignRight | Qt::AlignVCenter;
    if (row.kind != trace::ComparisonRow::Kind::Code) {
        painter.drawText(cell(kA, top), right, QString::number(row.anchor.a));
        painter.drawText(cell(kB, top), right, QString::number(row.anchor.b));
        painter.drawText(cell(kFirst, top), right, signedText(row.first, 3));
        painter.drawText(cell(kSecond, top), right, signedText(row.second, 3));
    } else {
        painter.drawText(cell(kSecond, top), right, signedText(row.difference, 3));
    }
    painter.drawText(cell(kSets, top), right, row.sets ? QStringLiteral("1") : QStringLiteral("0"));
}

void DetectorsPane::paintBar(QPainter& painter, const trace::ComparisonRow& row, const QRectF& cell) const
{
    static const ColorMap kMap;
    const double half = (cell.width() - fonts::px(16)) / 2;
    const double share = m_largest > 0 && std::isfinite(row.difference) ? row.difference / m_largest : 0;
    const QPointF middle = cell.center();
    const double length = share * half;
    const QRectF bar(length < 0 ? middle.x() + length : middle.x(), cell.top() + fonts::px(6), std::abs(length),
                     cell.height() - 2 * fonts::px(6));
    constexpr double kStrong = 0.75;
    painter.fillRect(bar, QColor::fromRgb(kMap.at(share < 0 ? -kStrong : kStrong)));
    painter.fillRect(QRectF(middle.x() - 0.5, cell.top() + 3, 1, cell.height() - 6), theme(this)[Role::Strong]);
}

QString DetectorsPane::rowBits(std::uint32_t row) const
{
    QString bits;
    const trace::ComparisonRow* before = nullptr;
    for (const trace::ComparisonRow& one : m_choice.comparisons) {
        bits += before != nullptr && before->kind != one.kind ? QStringLiteral(" ") : QString();
        bits += (row >> one.bit & 1U) != 0 ? QLatin1Char('1') : QLatin1Char('0');
        before = &one;
    }
    return bits;
}

double DetectorsPane::paintResult(QPainter& painter, double top) const
{
    const Theme& colors = theme(this);
    painter.fillRect(QRectF(0, top - 3, width(), 1), colors[Role::Line]);
    const QRectF line(fonts::px(kTableMargin), top, width() - 2 * fonts::px(kTableMargin), fonts::px(kTableRow));
    painter.setFont(fonts::numbers());
    painter.setPen(colors[Role::Text]);
    painter.drawText(line, Qt::AlignLeft | Qt::AlignVCenter,
                     tr("row %1 = %2").arg(rowBits(m_choice.row)).arg(m_choice.row));
    painter.setPen(colors[Role::Text2]);
    painter.drawText(line, Qt::AlignRight | Qt::AlignVCenter,
                     m_choice.runnerUp ? tr("runner-up %1").arg(rowBits(*m_choice.runnerUp)) : tr("no runner-up"));
    painter.setFont(fonts::small());
    const QRectF caption = line.translated(0, fonts::px(kTableRow));
    painter.drawText(caption, Qt::AlignLeft | Qt::AlignVCenter,
                     m_choice.chosenWeights.empty()
                         ? tr("a sparse layer: rows have outputs of their own")
                         : tr("share, and weights to the %1 outputs").arg(m_choice.chosenWeights.size()));
    return top + 2 * fonts::px(kTableRow);
}

void DetectorsPane::paintWeights(QPainter& painter, const QString& name, const QString& share,
                                 const std::vector<double>& weights, double top) const
{
    static const ColorMap kMap;
    const Theme& colors = theme(this);
    painter.setFont(fonts::label());
    painter.setPen(colors[Role::Text]);
    const QRectF line(fonts::px(kTableMargin), top, width() - 2 * fonts::px(kTableMargin), fonts::px(kTableRow));
    painter.drawText(line, Qt::AlignLeft | Qt::AlignVCenter, name);
    painter.setFont(fonts::numbers());
    const double figures = fonts::px(108);
    painter.drawText(QRectF(line.left() + figures, top, fonts::px(44), line.height()),
                     Qt::AlignRight | Qt::AlignVCenter, share);
    const double left = line.left() + figures + fonts::px(52);
    const double room = line.right() - left;
    for (std::size_t i = 0; i < weights.size() && room > 0; ++i) {
        const double x = left + room * static_cast<double>(i) / static_cast<double>(weights.size());
        const double next = left + room * static_cast<double>(i + 1) / static_cast<double>(weights.size());
        const double value = m_largestWeight > 0 ? weights[i] / m_largestWeight : 0;
        painter.fillRect(QRectF(x, top + 3, next - x + 0.5, line.height() - 6), QColor::fromRgb(kMap.at(value)));
    }
}

} // namespace retro::views
