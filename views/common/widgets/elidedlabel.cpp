// SPDX-License-Identifier: Apache-2.0
#include "views/common/widgets/elidedlabel.h"

#include <QEvent>
#include <QHelpEvent>
#include <QPainter>
#include <QToolTip>

namespace retro::views
{

ElidedLabel::ElidedLabel(const QString& text, Role role, const QFont& font, QWidget* parent)
    : QLabel(text, parent), m_role(role)
{
    setTextFormat(Qt::PlainText);
    setFont(font);
}

void ElidedLabel::setRole(Role role)
{
    m_role = role;
    update();
}

QSize ElidedLabel::sizeHint() const
{
    const QMargins margins = contentsMargins();
    const QFontMetrics metrics(font());
    return {metrics.horizontalAdvance(text()) + margins.left() + margins.right() + 1,
            metrics.height() + margins.top() + margins.bottom()};
}

QSize ElidedLabel::minimumSizeHint() const
{
    QSize size = sizeHint();
    size.setWidth(std::min(size.width(), QFontMetrics(font()).averageCharWidth() * 5));
    return size;
}

QString ElidedLabel::shownText() const
{
    return QFontMetrics(font()).elidedText(text(), Qt::ElideMiddle, contentsRect().width());
}

void ElidedLabel::paintEvent(QPaintEvent* /*event*/)
{
    QPainter painter(this);
    painter.setPen(theme(this)[m_role]);
    painter.drawText(contentsRect(), static_cast<int>(alignment() | Qt::AlignVCenter) | Qt::TextSingleLine,
                     shownText());
}

bool ElidedLabel::event(QEvent* event)
{
    if (event->type() == QEvent::ToolTip && toolTip().isEmpty() && shownText() != text()) {
        QToolTip::showText(static_cast<QHelpEvent*>(event)->globalPos(), text(), this);
        return true;
    }
    return QLabel::event(event);
}

} // namespace retro::views

#include "moc_elidedlabel.cpp"
