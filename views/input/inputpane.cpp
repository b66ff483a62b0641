// SPDX-License-Identifier: Apache-2.0
#include "views/input/inputpane.h"

#include "views/common/fonts.h"
#include "views/common/theme.h"

#include <QFontMetrics>
#include <QPainter>

#include <algorithm>
#include <cmath>

namespace retro::views
{

InputLayout layoutInput(const QSize& picture, const QRectF& area, double sentenceHeight)
{
    InputLayout layout;
    if (picture.isEmpty()) {
        return layout;
    }
    const double gap = sentenceHeight > 0 ? 6 : 0;
    const double room = std::max(1.0, area.height() - sentenceHeight - gap);
    const double exact = std::min(area.width() / picture.width(), room / picture.height());
    layout.pixel = exact >= 1 ? std::floor(exact) : exact;
    const QSizeF size = QSizeF(picture) * layout.pixel;
    layout.picture = QRectF(QPointF(std::round(area.left() + (area.width() - size.width()) / 2), area.top()), size);
    layout.sentence = QRectF(area.left(), layout.picture.bottom() + gap, area.width(), sentenceHeight);
    return layout;
}

InputPane::InputPane(QWidget* parent) : QWidget(parent) { setMinimumSize(80, 80); }

void InputPane::setContent(const QImage& picture, const QString& sentence)
{
    m_picture = picture;
    m_sentence = sentence;
    setAccessibleDescription(sentence);
    update();
}

void InputPane::paintEvent(QPaintEvent* /*event*/)
{
    const Theme& colors = theme(this);
    const double margin = fonts::px(10);
    const QRectF area = QRectF(rect()).adjusted(margin, fonts::px(2), -margin, -fonts::px(6));
    const QFont font = fonts::label();
    const QRectF lines =
        QFontMetricsF(font).boundingRect(QRectF(0, 0, area.width(), 1000), Qt::TextWordWrap, m_sentence);
    const InputLayout layout =
        layoutInput(m_picture.size(), area, m_sentence.isEmpty() ? 0 : std::ceil(lines.height()));
    QPainter painter(this);
    painter.setRenderHint(QPainter::SmoothPixmapTransform, layout.pixel < 1);
    painter.drawImage(layout.picture, m_picture);
    painter.setFont(font);
    painter.setPen(colors[Role::Text]);
    painter.drawText(layout.sentence, Qt::TextWordWrap, m_sentence);
}

} // namespace retro::views
