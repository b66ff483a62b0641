// SPDX-License-Identifier: Apache-2.0
#include "views/heatmap/arrivedrow.h"

#include "core/trace/gradientrun.h"
#include "core/trace/ledgersummary.h"
#include "views/common/numbertext.h"
#include "views/common/paint/fonts.h"
#include "views/common/paint/marks.h"
#include "views/common/paint/theme.h"

#include <QFontMetricsF>
#include <QPainter>

#include <cmath>

namespace retro::views
{

namespace
{

using fonts::px;

constexpr double kArrivedMargin = 10; // design pixels
constexpr double kArrivedLine = 20;
constexpr double kArrivedBar = 9;

} // namespace

StartedRelevance::StartedRelevance(const trace::Run& run)
    : sum(trace::summarise(run).start), isConserved(!trace::carriesGradient(run))
{}

ArrivedRow::ArrivedRow(QWidget* parent) : QWidget(parent)
{
    setSizePolicy(QSizePolicy::Preferred, QSizePolicy::Fixed);
    setAccessibleName(tr("What has arrived"));
}

void ArrivedRow::setFacts(const QString& name, const QString& shape, std::optional<double> share, bool isPart)
{
    m_name = name;
    m_shape = shape;
    m_share = share;
    m_isPart = isPart;
    m_words = share ? tr("%1: %2 of the score arrived").arg(name, percentText(*share)) : name;
    setAccessibleDescription(m_words);
    setToolTip(m_words);
    update();
}

QSize ArrivedRow::sizeHint() const { return {px(160), static_cast<int>(std::ceil(px(2 * kArrivedLine)))}; }

void ArrivedRow::paintEvent(QPaintEvent* /*event*/)
{
    QPainter painter(this);
    const Theme& colors = theme(this);
    const double line = px(kArrivedLine);
    const QRectF first(px(kArrivedMargin), 0, width() - 2 * px(kArrivedMargin), line);
    const QFont bold = fonts::label(QFont::DemiBold);
    const double shape = m_shape.isEmpty() ? 0 : fonts::widthOf(fonts::smallNumbers(), m_shape) + px(8);
    const double name = fonts::widthOf(bold, m_name);
    const bool hasShape = name + shape <= first.width(); // the name comes first
    painter.setFont(bold);
    painter.setPen(colors[Role::Text]);
    painter.drawText(first, Qt::AlignLeft | Qt::AlignVCenter | Qt::TextSingleLine,
                     QFontMetricsF(bold).elidedText(m_name, Qt::ElideMiddle, first.width()));
    if (hasShape) {
        painter.setFont(fonts::smallNumbers());
        painter.setPen(colors[Role::Text3]);
        painter.drawText(first, Qt::AlignRight | Qt::AlignVCenter | Qt::TextSingleLine, m_shape);
    }
    if (!m_share) {
        return;
    }
    const QRectF second = first.translated(0, line);
    const QString word = m_isPart ? tr("arrived so far") : tr("arrived");
    const QString figure = percentText(*m_share);
    painter.setFont(fonts::label());
    painter.setPen(colors[Role::Text2]);
    painter.drawText(second, Qt::AlignLeft | Qt::AlignVCenter | Qt::TextSingleLine, word);
    painter.setFont(fonts::numbers());
    painter.setPen(colors[Role::Text]);
    painter.drawText(second, Qt::AlignRight | Qt::AlignVCenter | Qt::TextSingleLine, figure);
    const double left = second.left() + fonts::widthOf(fonts::label(), word) + px(10);
    const double right = second.right() - fonts::widthOf(fonts::numbers(), figure) - px(10);
    if (right - left >= px(24)) {
        const double height = std::round(px(kArrivedBar));
        paintShareBar(painter, QRectF(left, std::round(second.center().y() - height / 2), right - left, height),
                      *m_share, colors[Role::Accent], colors);
    }
}

} // namespace retro::views

#include "moc_arrivedrow.cpp"
