// SPDX-License-Identifier: Apache-2.0
#include "views/run/thumbnailbutton.h"

#include "views/common/paint/fonts.h"
#include "views/common/paint/theme.h"

#include <QPainter>
#include <QStyle>
#include <QStyleOption>

#include <algorithm>

namespace retro::views
{

namespace
{

// Design pixels: around the picture, and the line with its name.
constexpr double kMargin = 4;
constexpr double kWord = 22;

} // namespace

ThumbnailButton::ThumbnailButton(QWidget* parent) : QAbstractButton(parent)
{
    setCheckable(true);
    setFocusPolicy(Qt::StrongFocus);
    QSizePolicy policy(QSizePolicy::Preferred, QSizePolicy::Preferred);
    policy.setHeightForWidth(true);
    setSizePolicy(policy);
}

void ThumbnailButton::setImage(const QImage& image)
{
    m_image = image;
    update();
}

QSize ThumbnailButton::sizeHint() const { return {fonts::px(104), heightForWidth(fonts::px(104))}; }

QSize ThumbnailButton::minimumSizeHint() const { return {fonts::px(84), heightForWidth(fonts::px(84))}; }

int ThumbnailButton::heightForWidth(int width) const
{
    return width - 2 * fonts::px(kMargin) + fonts::px(kMargin + kWord);
}

void ThumbnailButton::nextCheckState() {}

void ThumbnailButton::paintEvent(QPaintEvent*)
{
    QPainter painter(this);
    const Theme& colors = theme(this);
    const double line = isChecked() ? 2 : 1;
    const QRectF frame = QRectF(rect()).adjusted(line / 2, line / 2, -line / 2, -line / 2);
    painter.setRenderHint(QPainter::Antialiasing);
    painter.setPen(QPen(isChecked() ? colors[Role::Accent] : colors[Role::ButtonLine], line));
    painter.setBrush(isChecked() ? colors[Role::Sel] : colors[Role::Base]);
    painter.drawRoundedRect(frame, 4, 4);
    painter.setRenderHint(QPainter::Antialiasing, false);
    paintPicture(painter, colors);
    const QRectF word(4, height() - fonts::px(kWord), width() - 8, fonts::px(kWord) - 2);
    painter.setFont(fonts::small(isChecked() ? QFont::DemiBold : QFont::Normal));
    painter.setPen(colors[isChecked() ? Role::Text : Role::Text2]);
    painter.drawText(word, Qt::AlignCenter,
                     painter.fontMetrics().elidedText(text(), Qt::ElideMiddle, static_cast<int>(word.width()) - 4));
    if (hasFocus()) {
        QStyleOptionFocusRect ring;
        ring.initFrom(this);
        ring.rect = word.toRect().adjusted(0, 1, 0, -1);
        style()->drawPrimitive(QStyle::PE_FrameFocusRect, &ring, &painter, this);
    }
}

void ThumbnailButton::paintPicture(QPainter& painter, const Theme& colors) const
{
    const int margin = fonts::px(kMargin);
    const QRect room(margin, margin, width() - 2 * margin, height() - margin - fonts::px(kWord));
    if (m_image.isNull()) {
        painter.fillRect(room, colors[Role::Alt]);
        return;
    }
    // Whole pixels where they fit; a larger picture shrinks smoothly.
    const QSize fitting = m_image.size().scaled(room.size(), Qt::KeepAspectRatio);
    const int whole = fitting.width() / std::max(1, m_image.width());
    const QSize size = whole >= 1 ? m_image.size() * whole : fitting;
    painter.setRenderHint(QPainter::SmoothPixmapTransform, whole < 1);
    QRect picture(QPoint(0, 0), size);
    picture.moveCenter(room.center());
    painter.drawImage(picture, m_image);
}

} // namespace retro::views

#include "moc_thumbnailbutton.cpp"
