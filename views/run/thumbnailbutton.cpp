// SPDX-License-Identifier: Apache-2.0
#include "views/run/thumbnailbutton.h"

#include "views/common/fonts.h"
#include "views/common/theme.h"

#include <QPainter>

#include <algorithm>

namespace retro::views
{

ThumbnailButton::ThumbnailButton(QWidget* parent) : QAbstractButton(parent)
{
    setCheckable(true);
    setFocusPolicy(Qt::StrongFocus);
    QSizePolicy policy(QSizePolicy::Preferred, QSizePolicy::Fixed);
    policy.setHeightForWidth(true);
    setSizePolicy(policy);
}

void ThumbnailButton::setImage(const QImage& image)
{
    m_image = image;
    update();
}

QSize ThumbnailButton::sizeHint() const { return {fonts::px(104), fonts::px(124)}; }

int ThumbnailButton::heightForWidth(int width) const { return width + fonts::px(18); }

void ThumbnailButton::paintEvent(QPaintEvent*)
{
    QPainter painter(this);
    const Theme& colors = theme(this);
    const double line = isChecked() || hasFocus() ? 2 : 1;
    const QRectF frame = QRectF(rect()).adjusted(line / 2, line / 2, -line / 2, -line / 2);
    painter.setRenderHint(QPainter::Antialiasing);
    painter.setPen(QPen(isChecked() ? colors[Role::Accent] : colors[Role::ButtonLine], line));
    painter.setBrush(isChecked() ? colors[Role::Sel] : colors[Role::Base]);
    painter.drawRoundedRect(frame, 4, 4);
    painter.setRenderHint(QPainter::Antialiasing, false);
    const double wordHeight = fonts::px(22);
    const double side = std::min(width() - fonts::px(8), height() - fonts::px(4) - static_cast<int>(wordHeight));
    const QRectF picture((width() - side) / 2, fonts::px(4), side, side);
    if (m_image.isNull()) {
        painter.fillRect(picture, colors[Role::Alt]);
    } else {
        painter.drawImage(picture, m_image);
    }
    painter.setFont(fonts::small(isChecked() ? QFont::DemiBold : QFont::Normal));
    painter.setPen(colors[isChecked() ? Role::Text : Role::Text2]);
    const QRectF word(2, picture.bottom(), width() - 4, height() - picture.bottom());
    painter.drawText(word, Qt::AlignCenter, painter.fontMetrics().elidedText(text(), Qt::ElideRight, width() - 6));
}

} // namespace retro::views
