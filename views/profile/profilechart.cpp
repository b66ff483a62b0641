// SPDX-License-Identifier: Apache-2.0
#include "views/profile/profilechart.h"

#include "views/common/numbertext.h"
#include "views/common/paint/fonts.h"
#include "views/common/paint/marks.h"
#include "views/common/paint/theme.h"
#include "views/common/viewcontext.h"

#include <QMouseEvent>
#include <QPainter>

#include <algorithm>
#include <array>
#include <cmath>

namespace retro::views
{

using fonts::px;

namespace
{

// Design pixels.
constexpr double kChartSide = 64;
constexpr double kChartEdge = 12;
constexpr double kLegendRow = 22;
constexpr double kTimeRow = 20;
constexpr double kDecisionRow = 12;

Role colourOf(const event::NodeWork& work)
{
    return work.isRepeat ? Role::SearchLine : work.half == event::Half::Forward ? Role::Ink : Role::FulfilLine;
}

Role colourOf(event::MemoryChoice choice)
{
    switch (choice) {
    case event::MemoryChoice::Keep:
    case event::MemoryChoice::Pack:
        return Role::Keep;
    case event::MemoryChoice::Drop:
        return Role::Strong;
    case event::MemoryChoice::Move:
        return Role::NormalLine;
    default:
        return Role::SearchLine;
    }
}

QString nodeWords(const trace::Run& run, base::NodeId node)
{
    return node.index() < run.graph->runNodeCount() ? RunModel::placeLabel(*run.graph, node) : QStringLiteral("?");
}

} // namespace

ProfileChart::ProfileChart(QWidget* parent) : DrawnPane(parent, {480, 170}, {200, 110})
{
    setAccessibleName(tr("Computations over time"));
    setMouseTracking(true);
}

void ProfileChart::setRun(std::shared_ptr<const trace::Run> run)
{
    m_run = run && run->profile ? std::move(run) : nullptr;
    m_end = 0;
    if (m_run) {
        for (const trace::ProfileRow& row : m_run->profile->rows) {
            m_end = std::max(m_end, row.begin + row.work.seconds);
        }
    }
    setMeasure(m_measure);
}

void ProfileChart::setMeasure(ProfileMeasure measure)
{
    m_measure = measure;
    m_most = 0;
    if (m_run) {
        for (const trace::ProfileRow& row : m_run->profile->rows) {
            m_most = std::max(m_most, measureOf(row, measure));
        }
    }
    update();
}

void ProfileChart::setPlace(std::uint64_t position, base::NodeId node)
{
    m_position = position;
    m_node = node;
    update();
}

QRectF ProfileChart::area() const
{
    const double top = px(kLegendRow);
    const double below = px(kTimeRow) + px(kDecisionRow);
    return {static_cast<double>(px(kChartSide)), top, std::max(1.0, width() - px(kChartSide) - px(kChartEdge) * 1.0),
            std::max(1.0, height() - top - below)};
}

double ProfileChart::xOf(double seconds) const
{
    const QRectF chart = area();
    return chart.left() + (m_end > 0 ? seconds / m_end * chart.width() : 0);
}

QRectF ProfileChart::barOf(std::size_t row) const
{
    const trace::ProfileRow& one = m_run->profile->rows[row];
    const QRectF chart = area();
    const double share = m_most > 0 ? measureOf(one, m_measure) / m_most : 0;
    const double high = std::max(share * chart.height(), 1.0);
    const double left = xOf(one.begin);
    return {left, chart.bottom() - high, std::max(xOf(one.begin + one.work.seconds) - left, 1.0), high};
}

std::optional<std::size_t> ProfileChart::rowAt(const QPointF& at) const
{
    const QRectF chart = area();
    if (!m_run || at.x() < chart.left() - 2 || at.x() > chart.right() + 2 || at.y() < chart.top()) {
        return std::nullopt;
    }
    const auto& rows = m_run->profile->rows;
    std::optional<std::size_t> nearest;
    double least = 4; // pixels beside a bar that still count
    for (std::size_t i = 0; i < rows.size(); ++i) {
        const double left = xOf(rows[i].begin);
        const double right = std::max(xOf(rows[i].begin + rows[i].work.seconds), left + 1);
        const double away = at.x() < left ? left - at.x() : at.x() > right ? at.x() - right : 0;
        if (away < least) {
            least = away;
            nearest = i;
        }
    }
    return nearest;
}

QString ProfileChart::tipAt(const QPointF& at) const
{
    const std::optional<std::size_t> row = rowAt(at);
    if (!row) {
        return {};
    }
    const trace::ProfileRow& one = m_run->profile->rows[*row];
    const QString what = one.work.isRepeat                       ? tr("computed again")
                         : one.work.half == event::Half::Forward ? tr("forward")
                                                                 : tr("relevance or gradient");
    QString text = tr("%1, %2\n%3, %4, %5")
                       .arg(nodeWords(*m_run, one.node), what, measureText(one.work.seconds, ProfileMeasure::Time),
                            measureText(one.work.flops, ProfileMeasure::Operations),
                            measureText(static_cast<double>(one.work.bytes), ProfileMeasure::Bytes));
    const double span = m_end / std::max(area().width(), 1.0) * 2;
    int more = 0;
    for (const trace::DecisionRow& decision : m_run->profile->decisions) {
        if (std::abs(decision.at - (one.begin + one.work.seconds)) <= std::max(span, one.work.seconds) && more < 3) {
            text += QLatin1Char('\n') + tr("%1 %2: %3")
                                            .arg(QString::fromStdString(m_run->graph->value(decision.value).name),
                                                 wordOf(decision.choice), QString::fromStdString(decision.reason));
            ++more;
        }
    }
    return text;
}

void ProfileChart::paintDecisions(QPainter& painter, const Theme& theme) const
{
    const QRectF chart = area();
    const double top = chart.bottom() + 3;
    const double bottom = top + px(kDecisionRow) - 4;
    for (const trace::DecisionRow& one : m_run->profile->decisions) {
        const double x = std::round(xOf(std::min(one.at, m_end))) + 0.5;
        paintHairline(painter, {x, top}, {x, bottom}, theme[colourOf(one.choice)]);
    }
    painter.setPen(theme[Role::Text3]);
    painter.setFont(fonts::small());
    painter.drawText(QRectF(0, top - 4, chart.left() - px(6), px(kDecisionRow) + 4), Qt::AlignRight | Qt::AlignVCenter,
                     tr("values"));
}

void ProfileChart::paintLegend(QPainter& painter, const Theme& theme) const
{
    double at = area().left();
    painter.setFont(fonts::small());
    const std::array entries{std::pair(tr("forward"), Role::Ink),
                             std::pair(tr("relevance or gradient"), Role::FulfilLine),
                             std::pair(tr("computed again"), Role::SearchLine)};
    for (const auto& [words, role] : entries) {
        painter.fillRect(QRectF(at, px(7), px(10), px(8)), theme[role]);
        painter.setPen(theme[Role::Text2]);
        const double wide = fonts::widthOf(painter.font(), words);
        painter.drawText(QRectF(at + px(14), 0, wide + px(4), px(kLegendRow)), Qt::AlignLeft | Qt::AlignVCenter, words);
        at += wide + px(28);
    }
}

void ProfileChart::paintMeasureScale(QPainter& painter, const Theme& theme) const
{
    const QRectF chart = area();
    painter.setFont(fonts::smallNumbers());
    for (int i = 0; i <= 2; ++i) {
        const double y = std::round(chart.bottom() - chart.height() * i / 2) + 0.5;
        paintHairline(painter, {chart.left(), y}, {chart.right(), y}, theme[i == 0 ? Role::Strong : Role::Grid]);
        painter.setPen(theme[Role::Text3]);
        painter.drawText(QRectF(0, y - px(8), chart.left() - px(6), px(16)), Qt::AlignRight | Qt::AlignVCenter,
                         i == 0 ? QStringLiteral("0") : measureText(m_most * i / 2, m_measure));
    }
}

/// In the font of paintMeasureScale().
void ProfileChart::paintTimeScale(QPainter& painter, const Theme& theme) const
{
    constexpr int kFigures = 4;
    for (int i = 0; i <= kFigures; ++i) {
        const double x = xOf(m_end * i / kFigures);
        const Qt::Alignment side = i == kFigures ? Qt::AlignRight : i == 0 ? Qt::AlignLeft : Qt::AlignHCenter;
        const QRectF room(i == kFigures ? x - 120 : i == 0 ? x : x - 60, height() - px(kTimeRow), 120, px(kTimeRow));
        painter.setPen(theme[Role::Text3]);
        painter.drawText(room, side | Qt::AlignVCenter, measureText(m_end * i / kFigures, ProfileMeasure::Time));
    }
}

void ProfileChart::paint(QPainter& painter) const
{
    const Theme& colours = theme(this);
    painter.fillRect(rect(), colours[Role::Base]);
    if (!m_run) {
        return;
    }
    paintLegend(painter, colours);
    paintMeasureScale(painter, colours);
    paintTimeScale(painter, colours);
    const auto& rows = m_run->profile->rows;
    for (std::size_t i = 0; i < rows.size(); ++i) {
        const bool isChosen = m_node.isValid() && rows[i].node == m_node;
        const Role role = isChosen ? Role::Accent : isBehind(rows[i].step) ? Role::Ghost : colourOf(rows[i].work);
        painter.fillRect(barOf(i), colours[role]);
    }
    paintDecisions(painter, colours);
}

void ProfileChart::paintEvent(QPaintEvent*)
{
    QPainter painter(this);
    paint(painter);
}

void ProfileChart::mousePressEvent(QMouseEvent* event)
{
    const std::optional<std::size_t> row = rowAt(event->position());
    if (row && event->button() == Qt::LeftButton) {
        emit rowChosen(static_cast<qsizetype>(*row));
    }
}

} // namespace retro::views

#include "moc_profilechart.cpp"
