// SPDX-License-Identifier: Apache-2.0
#include "views/ledger/curvepane.h"

#include "views/common/numbertext.h"
#include "views/common/paint/fonts.h"
#include "views/common/paint/marks.h"
#include "views/ledger/ledgertranslation.h"

#include <QKeyEvent>
#include <QMouseEvent>
#include <QPainter>
#include <QPainterPath>

#include <algorithm>
#include <array>
#include <cmath>

namespace retro::views
{

namespace
{

/// Shares of what started after a visit: the lower edge of what is on its way, and the upper.
struct Level
{
    double arrived = 0;
    double present = 0; ///< arrived or on its way
};

Level levelAfter(const LedgerCurve& curve, std::uint32_t visits)
{
    const double arrived = curve.arrived(visits) / curve.started();
    const double present = arrived + curve.onItsWay(visits) / curve.started();
    return {std::isfinite(arrived) ? arrived : 0, std::isfinite(present) ? present : 0};
}

/// Pixels, visits and shares.
struct CurveScale
{
    QRectF chart;
    double first = 0;
    double end = 1;
    double low = 0;
    double high = 1;
    double step = 0.25; ///< between two lines of the grid

    [[nodiscard]] double x(double visit) const
    {
        return chart.left() + (visit - first) / std::max(1.0, end - first) * chart.width();
    }
    [[nodiscard]] double y(double share) const
    {
        return chart.bottom() - (share - low) / (high - low) * chart.height();
    }
};

CurveScale scaleOf(const CurveFigure& figure, const QRectF& area)
{
    CurveScale scale;
    scale.chart = curveChart(area);
    scale.first = figure.first();
    scale.end = figure.end();
    for (std::uint32_t visit = figure.first(); visit < figure.end(); ++visit) {
        const Level level = levelAfter(*figure.curve, visit + 1);
        scale.low = std::min({scale.low, level.arrived, level.present});
        scale.high = std::max({scale.high, level.arrived, level.present});
    }
    for (const double step : {0.25, 0.5, 1.0, 2.0, 5.0, 10.0}) {
        scale.step = step;
        if (scale.high - scale.low <= 5 * step) {
            break;
        }
    }
    scale.low = std::floor(scale.low / scale.step + 1e-9) * scale.step;
    scale.high = std::ceil(scale.high / scale.step - 1e-9) * scale.step;
    return scale;
}

/// Upper and lower edge of the steps between two visits; in less than a pixel the last visit stands for all.
struct Step
{
    double left = 0;
    double right = 0;
    Level level;
};

std::vector<Step> stepsOf(const CurveFigure& figure, const CurveScale& scale)
{
    std::vector<Step> steps;
    for (std::uint32_t visit = figure.first(); visit < figure.end(); ++visit) {
        const double right = scale.x(visit + 1.0);
        const bool isSamePixel = !steps.empty() && right - steps.back().left < 1;
        if (!isSamePixel) {
            steps.push_back({scale.x(visit), right, {}});
        }
        steps.back().right = right;
        steps.back().level = levelAfter(*figure.curve, visit + 1);
    }
    return steps;
}

template <class Upper, class Lower>
QPainterPath areaBetween(const std::vector<Step>& steps, Upper upper, Lower lower)
{
    QPainterPath path;
    if (steps.empty()) {
        return path;
    }
    path.moveTo(steps.front().left, upper(steps.front()));
    for (const Step& step : steps) {
        path.lineTo(step.left, upper(step));
        path.lineTo(step.right, upper(step));
    }
    for (auto step = steps.rbegin(); step != steps.rend(); ++step) {
        path.lineTo(step->right, lower(*step));
        path.lineTo(step->left, lower(*step));
    }
    path.closeSubpath();
    return path;
}

void paintAbsorbed(QPainter& painter, const QPainterPath& area, const Theme& theme)
{
    painter.save();
    painter.fillPath(area, theme[Role::SearchTint]);
    painter.setClipPath(area, Qt::IntersectClip);
    paintHatch(painter, area.boundingRect(), theme[Role::SearchLine]);
    painter.restore();
}

void paintGrid(QPainter& painter, const CurveScale& scale, const Theme& theme)
{
    painter.setFont(fonts::smallNumbers());
    const int count = static_cast<int>(std::lround((scale.high - scale.low) / scale.step));
    for (int i = 0; i <= count; ++i) {
        const double share = scale.low + i * scale.step;
        const double y = scale.y(share);
        paintHairline(painter, {scale.chart.left(), y}, {scale.chart.right(), y}, theme[Role::Grid]);
        const double high = fonts::px(16);
        painter.setPen(theme[Role::Text3]);
        painter.drawText(QRectF(scale.chart.left() - fonts::px(56), y - high / 2, fonts::px(50), high),
                         Qt::AlignRight | Qt::AlignVCenter, fixedText(share * 100, 0) + QStringLiteral(" %"));
    }
    // The first and the last visit say what stands between them.
    const QRectF below(scale.chart.left(), scale.chart.bottom() + fonts::px(2), scale.chart.width(), fonts::px(16));
    painter.drawText(below, Qt::AlignLeft | Qt::AlignVCenter,
                     ledgerText("visit %1").arg(countText(static_cast<std::int64_t>(scale.first) + 1)));
    painter.drawText(below, Qt::AlignRight | Qt::AlignVCenter, countText(static_cast<std::int64_t>(scale.end)));
}

void paintLegend(QPainter& painter, const QRectF& chart, const Theme& theme)
{
    const std::array words{ledgerText("arrived at the input"), ledgerText("on its way"), ledgerText("absorbed")};
    const double side = fonts::px(10);
    const double y = chart.top() - fonts::px(12);
    double x = chart.left();
    for (std::size_t i = 0; i < words.size(); ++i) {
        const QRectF sample(std::round(x), std::round(y - side / 2), side, side);
        if (i == 2) {
            QPainterPath path;
            path.addRect(sample);
            paintAbsorbed(painter, path, theme);
        } else {
            painter.fillRect(sample, theme[i == 0 ? Role::Accent : Role::Strong]);
        }
        const double width = std::ceil(fonts::widthOf(fonts::small(), words[i]));
        painter.setFont(fonts::small());
        painter.setPen(theme[Role::Text2]);
        painter.drawText(QRectF(x + side + fonts::px(5), y - fonts::px(8), width + 1, fonts::px(16)),
                         Qt::AlignLeft | Qt::AlignVCenter, words[i]);
        x += side + width + fonts::px(19);
    }
}

} // namespace

std::uint32_t CurveFigure::first() const { return range && range->first < curve->visitCount() ? range->first : 0; }

std::uint32_t CurveFigure::end() const
{
    const bool isPart = range && range->first < curve->visitCount();
    return isPart ? std::min(range->last + 1, curve->visitCount()) : curve->visitCount();
}

QRectF curveChart(const QRectF& area)
{
    const QRectF chart = area.adjusted(fonts::px(56), fonts::px(26), -fonts::px(12), -fonts::px(22));
    return {chart.topLeft(), QSizeF(std::max(20.0, chart.width()), std::max(20.0, chart.height()))};
}

void paintCurve(QPainter& painter, const CurveFigure& figure, const QRectF& area, const Theme& theme)
{
    if (figure.curve->isEmpty()) {
        return;
    }
    const CurveScale scale = scaleOf(figure, area);
    const std::vector<Step> steps = stepsOf(figure, scale);
    const auto arrived = [&](const Step& step) { return scale.y(step.level.arrived); };
    const auto present = [&](const Step& step) { return scale.y(step.level.present); };
    painter.save();
    painter.fillPath(areaBetween(steps, present, arrived), theme[Role::Strong]);
    painter.fillPath(areaBetween(steps, arrived, [&](const Step&) { return scale.y(0); }), theme[Role::Accent]);
    paintAbsorbed(painter,
                  areaBetween(
                      steps, [&](const Step&) { return scale.y(1); }, present),
                  theme);
    paintGrid(painter, scale, theme);
    paintHairline(painter, {scale.chart.left(), scale.y(0)}, {scale.chart.right(), scale.y(0)}, theme[Role::Strong]);
    paintLegend(painter, scale.chart, theme);
    if (figure.cursorVisit >= scale.first && figure.cursorVisit <= scale.end) {
        const double x = std::round(scale.x(figure.cursorVisit));
        painter.fillRect(QRectF(x - 1, scale.chart.top(), 2, scale.chart.height()), theme[Role::Text]);
    }
    painter.restore();
}

QString curveWords(const LedgerCurve& curve, std::uint32_t visits)
{
    const auto share = [&](double amount) { return percentText(amount / curve.started()); };
    const QString words = ledgerText("Visit %1: %2 arrived, %3 on its way, %4 absorbed")
                              .arg(countText(visits), share(curve.arrived(visits)), share(curve.onItsWay(visits)),
                                   share(curve.absorbed(visits)));
    const double unexplained = curve.unexplained(visits);
    constexpr double kNoise = 1e-6; // as everywhere in the books
    return std::abs(unexplained) <= kNoise * std::abs(curve.started())
               ? words
               : ledgerText("%1, %2 unexplained").arg(words, share(unexplained));
}

CurvePane::CurvePane(QWidget* parent) : DrawnPane(parent, {420, 180}, {220, 90})
{
    setFocusPolicy(Qt::StrongFocus);
    setAccessibleName(ledgerText("Relevance over time"));
}

void CurvePane::setFigure(CurveFigure figure)
{
    m_figure = std::move(figure);
    if (!m_figure.curve->isEmpty()) {
        const auto visits = static_cast<std::uint32_t>(std::ceil(m_figure.cursorVisit));
        setAccessibleDescription(curveWords(*m_figure.curve, visits));
    }
    update();
}

std::uint32_t CurvePane::visitAt(double x) const
{
    const QRectF chart = curveChart(rect());
    const double share = std::clamp((x - chart.left()) / chart.width(), 0.0, 1.0);
    const double first = m_figure.first();
    const double count = m_figure.end() - first;
    return static_cast<std::uint32_t>(first + std::min(std::floor(share * count), std::max(0.0, count - 1)));
}

void CurvePane::paintEvent(QPaintEvent* /*event*/)
{
    QPainter painter(this);
    paintCurve(painter, m_figure, rect(), theme(this));
}

void CurvePane::mousePressEvent(QMouseEvent* event)
{
    if (event->button() == Qt::LeftButton && !m_figure.curve->isEmpty()) {
        emit visitWanted(visitAt(event->position().x()));
    }
}

void CurvePane::keyPressEvent(QKeyEvent* event)
{
    const bool isArrow = event->key() == Qt::Key_Left || event->key() == Qt::Key_Right;
    if (!isArrow || m_figure.curve->isEmpty()) {
        return QWidget::keyPressEvent(event);
    }
    const auto done = static_cast<std::int64_t>(std::ceil(m_figure.cursorVisit)); // visits
    const std::int64_t wanted = event->key() == Qt::Key_Right ? done : done - 2;
    emit visitWanted(static_cast<quint32>(
        std::clamp<std::int64_t>(wanted, 0, static_cast<std::int64_t>(m_figure.curve->visitCount()) - 1)));
}

QString CurvePane::tipAt(const QPointF& at) const
{
    return m_figure.curve->isEmpty() ? QString() : curveWords(*m_figure.curve, visitAt(at.x()) + 1);
}

} // namespace retro::views

#include "moc_curvepane.cpp"
