// SPDX-License-Identifier: Apache-2.0
#include "views/text/textstamps.h"

#include <QPainter>

namespace retro::views
{

void TextStamps::begin(QPainter& painter, const QFont& font)
{
    if (font != m_font) {
        m_stamps.clear();
        m_font = font;
    }
    painter.setFont(font);
}

void TextStamps::draw(QPainter& painter, const QRectF& box, Qt::Alignment alignment, const QString& text)
{
    constexpr qsizetype kMostStamps = 8192;
    auto at = m_stamps.find(text);
    if (at == m_stamps.end()) {
        if (m_stamps.size() >= kMostStamps) {
            m_stamps.clear();
        }
        QStaticText made(text);
        made.setTextFormat(Qt::PlainText);
        made.prepare({}, m_font);
        at = m_stamps.insert(text, made);
    }
    const QSizeF size = at->size();
    const double left = alignment.testFlag(Qt::AlignLeft)    ? box.left()
                        : alignment.testFlag(Qt::AlignRight) ? box.right() - size.width()
                                                             : box.center().x() - size.width() / 2;
    painter.drawStaticText(QPointF(left, box.center().y() - size.height() / 2), *at);
}

} // namespace retro::views
