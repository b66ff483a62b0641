// SPDX-License-Identifier: Apache-2.0
#include "views/diagnose/findingmark.h"

#include "core/diagnosis/numbertext.h"
#include "views/common/paint/fonts.h"
#include "views/common/paint/marks.h"
#include "views/diagnose/diagnosewords.h"

#include <QPainter>
#include <QStringList>

#include <algorithm>
#include <cmath>

namespace retro::views
{

namespace
{

// Design pixels.
constexpr double kMarkSide = 16;
constexpr double kBarHeight = 9;
constexpr double kBarGap = 8;
constexpr double kLeastBar = 48;
constexpr double kMostBar = 260;
constexpr double kFigures = 48; // of the number, so that the bars of rows stand below each other
constexpr double kLimit = 68;   // of the limit

QString figureOf(double number, bool isShare)
{
    return QString::fromStdString(isShare ? diagnosis::percentText(number) : diagnosis::numberText(number));
}

} // namespace

void paintFindingMark(QPainter& painter, const QPointF& center, double radius, diagnosis::Level level,
                      const Theme& theme)
{
    const QColor& color = theme[roleOf(level)];
    switch (level) {
    case diagnosis::Level::Error:
        paintCross(painter, center, radius * 0.8, color);
        return;
    case diagnosis::Level::Difference:
        paintDiamond(painter, center, radius, color, true);
        return;
    case diagnosis::Level::Warning:
        paintTriangle(painter, center, radius, color);
        return;
    case diagnosis::Level::Note:
        break;
    }
    painter.save();
    painter.setRenderHint(QPainter::Antialiasing);
    painter.setPen(Qt::NoPen);
    painter.setBrush(color);
    painter.drawEllipse(center, radius * 0.75, radius * 0.75);
    painter.restore();
}

FindingMark::FindingMark(diagnosis::Level level, QWidget* parent) : QWidget(parent), m_level(level)
{
    setSizePolicy(QSizePolicy::Fixed, QSizePolicy::Fixed);
    setToolTip(wordOf(level));
    setAccessibleName(wordOf(level));
}

QSize FindingMark::sizeHint() const { return {fonts::px(kMarkSide), fonts::px(kMarkSide)}; }

void FindingMark::paintEvent(QPaintEvent* /*event*/)
{
    QPainter painter(this);
    paintFindingMark(painter, QRectF(rect()).center(), fonts::px(kMarkSide) * 0.36, m_level, theme(this));
}

bool NumberBar::fits(const diagnosis::Finding& finding)
{
    return mainNumber(finding).has_value() && finding.threshold != 0 && std::isfinite(finding.threshold);
}

NumberBar::NumberBar(const diagnosis::Finding& finding, QWidget* parent) : QWidget(parent), m_level(finding.level)
{
    const double number = mainNumber(finding).value_or(0);
    const bool isShare = number >= 0 && number <= 1 && finding.threshold > 0 && finding.threshold <= 1;
    m_number = figureOf(number, isShare);
    m_limit = tr("limit %1").arg(figureOf(finding.threshold, isShare));
    const NumberScale scale = scaleOf(number, finding.threshold);
    m_at = scale.at;
    m_limitAt = scale.limitAt;
    QStringList all;
    for (const auto& [name, value] : finding.numbers) {
        all << QString::fromStdString(name) + QStringLiteral(" = ") +
                   QString::fromStdString(diagnosis::numberText(value));
    }
    setToolTip(all.join(QLatin1Char('\n')));
    setAccessibleName(figures());
    setSizePolicy(QSizePolicy::Preferred, QSizePolicy::Fixed);
}

QSize NumberBar::sizeHint() const
{
    QSize size = minimumSizeHint();
    size.rwidth() += fonts::px(kMostBar - kLeastBar);
    return size;
}

QSize NumberBar::minimumSizeHint() const
{
    const double texts =
        std::max<double>(fonts::px(kFigures), fonts::widthOf(fonts::numbers(QFont::DemiBold), m_number)) +
        std::max<double>(fonts::px(kLimit), fonts::widthOf(fonts::small(), m_limit));
    return {static_cast<int>(std::ceil(texts)) + fonts::px(kLeastBar) + 2 * fonts::px(kBarGap),
            std::max(QFontMetrics(fonts::numbers()).height(), fonts::px(kMarkSide))};
}

void NumberBar::paintEvent(QPaintEvent* /*event*/)
{
    QPainter painter(this);
    const Theme& colors = theme(this);
    const QFont bold = fonts::numbers(QFont::DemiBold);
    const double left =
        std::max<double>(fonts::px(kFigures), std::ceil(fonts::widthOf(bold, m_number))) + fonts::px(kBarGap);
    const double right =
        std::max<double>(fonts::px(kLimit), std::ceil(fonts::widthOf(fonts::small(), m_limit))) + fonts::px(kBarGap);
    const double width = std::min<double>(this->width() - left - right, fonts::px(kMostBar));
    painter.setFont(bold);
    painter.setPen(colors[Role::Text]);
    painter.drawText(rect(), Qt::AlignVCenter | Qt::AlignLeft, m_number);
    const QRectF bar(left, std::floor((height() - fonts::px(kBarHeight)) / 2.0), width, fonts::px(kBarHeight));
    paintShareBar(painter, bar, m_at, colors[m_level == diagnosis::Level::Note ? Role::Strong : roleOf(m_level)],
                  colors);
    const double x = std::floor(bar.left() + m_limitAt * bar.width()) + 0.5;
    painter.setRenderHint(QPainter::Antialiasing, false);
    painter.setPen(QPen(colors[Role::Text], 2));
    painter.drawLine(QPointF(x, bar.top() - 3), QPointF(x, bar.bottom() + 3));
    painter.setFont(fonts::small());
    painter.setPen(colors[Role::Text3]);
    painter.drawText(QRectF(bar.right() + fonts::px(kBarGap), 0, right, height()), Qt::AlignVCenter | Qt::AlignLeft,
                     m_limit);
}

} // namespace retro::views

#include "moc_findingmark.cpp"
