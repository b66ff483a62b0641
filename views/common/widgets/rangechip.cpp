// SPDX-License-Identifier: Apache-2.0
#include "views/common/widgets/rangechip.h"

#include "views/common/paint/fonts.h"
#include "views/common/paint/marks.h"
#include "views/common/paint/theme.h"
#include "views/common/run/timerange.h"

#include <QPainter>

#include <cmath>

namespace retro::views
{

RangeChip::RangeChip(QWidget* parent) : QToolButton(parent)
{
    setObjectName(QStringLiteral("rangechip"));
    setToolTip(tr("Only this part of the run, as chosen on the ruler of the timeline. Press for all of it."));
    setFont(fonts::label());
    setCursor(Qt::PointingHandCursor);
    hide();
}

void RangeChip::follow(TimeRange& range)
{
    m_range = &range;
    connect(this, &QToolButton::clicked, &range, &TimeRange::clear);
    connect(&range, &TimeRange::changed, this, &RangeChip::take);
    take();
}

void RangeChip::take()
{
    const QString text = m_range->text();
    setText(text);
    setAccessibleName(text.isEmpty() ? QString() : tr("Only %1; show all").arg(text));
    setVisible(!text.isEmpty());
    updateGeometry();
}

QSize RangeChip::sizeHint() const
{
    return {static_cast<int>(std::ceil(fonts::widthOf(font(), text()))) + fonts::px(34), fonts::px(24)};
}

void RangeChip::paintEvent(QPaintEvent*)
{
    QPainter painter(this);
    const Theme& colors = theme(this);
    const double height = fonts::px(20);
    const QRectF chip(0.5, std::round((this->height() - height) / 2) + 0.5, width() - 1, height - 1);
    painter.setRenderHint(QPainter::Antialiasing);
    painter.setPen(QPen(colors[hasFocus() || underMouse() ? Role::Accent : Role::Strong], 1));
    painter.setBrush(colors[Role::Sel]);
    painter.drawRoundedRect(chip, height / 2, height / 2);
    painter.setFont(font());
    painter.setPen(colors[Role::Text]);
    painter.drawText(chip.adjusted(fonts::px(9), 0, -fonts::px(22), 0), Qt::AlignLeft | Qt::AlignVCenter, text());
    paintCross(painter, {chip.right() - fonts::px(12), chip.center().y()}, fonts::px(3.5), colors[Role::Text2]);
}

} // namespace retro::views

#include "moc_rangechip.cpp"
