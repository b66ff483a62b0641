// SPDX-License-Identifier: Apache-2.0
#include "views/common/widgets/drawnpane.h"

#include "views/common/paint/fonts.h"
#include "views/common/paint/theme.h"

#include <QHelpEvent>
#include <QPainter>
#include <QToolTip>

namespace retro::views
{

namespace
{

QSize inPixels(const QSizeF& design) { return {fonts::px(design.width()), fonts::px(design.height())}; }

} // namespace

QSize DrawnPane::sizeHint() const { return m_usual.isValid() ? inPixels(m_usual) : QWidget::sizeHint(); }

QSize DrawnPane::minimumSizeHint() const { return m_least.isValid() ? inPixels(m_least) : QWidget::minimumSizeHint(); }

bool DrawnPane::event(QEvent* event)
{
    if (event->type() != QEvent::ToolTip) {
        return QWidget::event(event);
    }
    const auto& help = static_cast<const QHelpEvent&>(*event);
    QToolTip::showText(help.globalPos(), tipAt(help.pos()), this); // no words: hides the one before
    return true;
}

void DrawnPane::paintFocus(QPainter& painter) const
{
    if (hasFocus()) {
        painter.setRenderHint(QPainter::Antialiasing, false);
        painter.setPen(theme(this)[Role::Accent]);
        painter.setBrush(Qt::NoBrush);
        painter.drawRect(rect().adjusted(0, 0, -1, -1));
    }
}

} // namespace retro::views
